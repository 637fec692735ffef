package rdna

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorun/hipdyn/hipemu/rdna/isa"
)

// compiled are the objects of testdata/*.hip, made once.
var compiled = struct {
	sync.Mutex
	objects map[string][]byte
}{objects: map[string][]byte{}}

// compile makes the object of a source in testdata for a target, or skips the
// test. Extra flags make another object.
func compile(t testing.TB, source, target string, flags ...string) []byte {
	t.Helper()
	clang, err := exec.LookPath("clang++-19")
	if _, e := exec.LookPath("ld.lld-19"); err != nil || e != nil {
		t.Skip("needs clang-19 and lld-19 (Debian: apt-get install clang-19 lld-19) to compile kernels")
	}
	compiled.Lock()
	defer compiled.Unlock()
	key := strings.Join(append(flags, source, target), " ")
	if o := compiled.objects[key]; o != nil {
		return o
	}
	out := filepath.Join(t.TempDir(), "object")
	args := append([]string{"-x", "hip", "--offload-arch=" + target, "--offload-device-only", "--no-gpu-bundle-output", "-nogpuinc", "-nogpulib",
		"-O3", "-std=c++20", "-fuse-cuid=none", "-fno-ident"}, flags...)
	if text, err := exec.Command(clang, append(args, filepath.Join("testdata", source), "-o", out)...).CombinedOutput(); err != nil {
		t.Fatalf("clang: %v\n%s", err, text)
	}
	o, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	compiled.objects[key] = o
	return o
}

// noSink keeps LLVM before 21 from moving lane permutations into branches.
var noSink = []string{"-mllvm", "-disable-machine-sink"}

// TestSweep compares every instruction of objects with llvm-objdump: name,
// operands and length. The objects are those committed anywhere in the
// project, and the kernels of testdata compiled for all targets.
func TestSweep(t *testing.T) {
	objdump, err := exec.LookPath("llvm-objdump-19")
	if err != nil {
		t.Skip("needs llvm-objdump-19 (Debian: apt-get install llvm-19); the decoder is not compared with it here")
	}
	objects := map[string][]byte{}
	root := "../../.."
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".hsaco") {
			objects[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d committed objects", len(objects))
	if _, err := exec.LookPath("clang++-19"); err == nil {
		for _, target := range isa.Targets {
			for _, source := range []string{"kernels.hip", "faults.hip"} {
				objects[source+" "+target] = compile(t, source, target, noSink...)
			}
		}
	}
	kernels, instructions := 0, 0
	for name, object := range objects {
		m, err := Load(object)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		kernels += len(m.Kernels())
		instructions += sweep(t, objdump, name, m, object)
	}
	t.Logf("%d instructions of %d kernels in %d objects", instructions, kernels, len(objects))
}

func sweep(t *testing.T, objdump, name string, m *Module, object []byte) int {
	file := filepath.Join(t.TempDir(), "object")
	if err := os.WriteFile(file, object, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(objdump, "-d", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	set, err := isa.For(m.Target)
	if err != nil {
		t.Fatal(err)
	}
	n, bad := 0, 0
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		want, words, ok := strings.Cut(sc.Text(), "// ")
		if !ok {
			continue
		}
		want = strings.TrimSpace(want)
		addr, words, _ := strings.Cut(words, ": ")
		var pc uint64
		if _, err := fmt.Sscanf(addr, "%x", &pc); err != nil {
			t.Fatal(err)
		}
		words, _, _ = strings.Cut(words, "<")
		var code []byte
		for _, w := range strings.Fields(words) {
			b, err := hex.DecodeString(w)
			if err != nil {
				t.Fatal(err)
			}
			slices.Reverse(b)
			code = append(code, b...)
		}
		if !bytes.Equal(code, m.object.Image[pc:pc+uint64(len(code))]) {
			t.Fatalf("%s: 0x%x: the image differs from what llvm-objdump saw", name, pc)
		}
		n++
		in, err := set.Decode(m.object.Image[pc:])
		switch {
		case err != nil:
			t.Errorf("%s: 0x%x %q: %v", name, pc, want, err)
		case in.Size != len(code) || in.String() != want:
			t.Errorf("%s: 0x%x: got %q, %d bytes; want %q, %d bytes", name, pc, in.String(), in.Size, want, len(code))
		default:
			continue
		}
		if bad++; bad > 20 {
			t.Fatal("and so on")
		}
	}
	return n
}
