package rdna

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorun/hipdyn/hipemu/rdna/isa"
)

var update = flag.Bool("update", false, "compile the kernels of testdata anew (needs clang-19 and lld-19)")

// archive holds the objects of testdata/*.hip, so that tests need no compiler.
const archive = "testdata/objects.zip"

var objects = sync.OnceValues(func() (map[string][]byte, error) {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	m := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		if m[f.Name], err = io.ReadAll(r); err != nil {
			return nil, err
		}
	}
	return m, nil
})

// object is a committed object: kernels, faults, or sunk (faults compiled
// without the flag that keeps LLVM before 21 from moving lane permutations into
// branches).
func object(t testing.TB, name, target string) []byte {
	t.Helper()
	m, err := objects()
	if err != nil {
		t.Fatal(err)
	}
	o := m[name+"."+target]
	if o == nil {
		t.Fatalf("no object %s.%s in %s", name, target, archive)
	}
	return o
}

// compile makes the object of a source in testdata, or skips the test.
func compile(t testing.TB, source, target string, flags ...string) []byte {
	t.Helper()
	clang, err := exec.LookPath("clang++-19")
	if _, e := exec.LookPath("ld.lld-19"); err != nil || e != nil {
		t.Skip("needs clang-19 and lld-19 (Debian: apt-get install clang-19 lld-19) to compile kernels")
	}
	out := filepath.Join(t.TempDir(), "object")
	args := append([]string{"-x", "hip", "--offload-arch=" + target, "--offload-device-only", "--no-gpu-bundle-output", "-nogpuinc", "-nogpulib",
		"-O3", "-std=c++20", "-fuse-cuid=none", "-fno-ident"}, flags...)
	if text, err := exec.Command(clang, append(args, source, "-o", out)...).CombinedOutput(); err != nil {
		t.Fatalf("clang: %v\n%s", err, text)
	}
	o, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

var noSink = []string{"-mllvm", "-disable-machine-sink"}

// TestObjects compiles the kernels of testdata and compares them with the
// committed objects; with -update it writes those.
func TestObjects(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles kernels for half a minute")
	}
	made := map[string][]byte{}
	for _, target := range isa.Targets {
		made["kernels."+target] = compile(t, "testdata/kernels.hip", target, noSink...)
		made["faults."+target] = compile(t, "testdata/faults.hip", target, noSink...)
		made["sunk."+target] = compile(t, "testdata/faults.hip", target)
	}
	if *update {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for _, name := range slices.Sorted(maps.Keys(made)) {
			f, err := z.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Write(made[name]); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(archive, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	version, err := exec.Command("ld.lld-19", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(version, []byte("19.1.7")) {
		t.Skipf("the committed objects are from LLVM 19.1.7, this is %s", version)
	}
	for name, o := range made {
		if !bytes.Equal(o, object(t, strings.TrimSuffix(name, filepath.Ext(name)), filepath.Ext(name)[1:])) {
			t.Errorf("%s differs from what %s holds: go test -run TestObjects -update", name, archive)
		}
	}
}

// TestSweep compares every instruction of objects with llvm-objdump: name,
// operands and length. The objects are those committed anywhere in the
// project; where there is a compiler, also those kernels of testdata with less
// optimization.
func TestSweep(t *testing.T) {
	objdump, err := exec.LookPath("llvm-objdump-19")
	if err != nil {
		t.Skip("needs llvm-objdump-19 (Debian: apt-get install llvm-19); the decoder is not compared with it here")
	}
	all := map[string][]byte{}
	root := "../../.."
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".hsaco") {
			all[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	committed, err := objects()
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(all, committed)
	t.Logf("%d committed objects", len(all))
	if _, err := exec.LookPath("clang++-19"); err == nil && !testing.Short() {
		for _, target := range isa.Targets {
			all["kernels.hip -O1 "+target] = compile(t, "testdata/kernels.hip", target, append(noSink, "-O1")...)
		}
	}
	kernels, instructions := 0, 0
	for name, object := range all {
		m, err := Load(object)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		kernels += len(m.Kernels())
		instructions += sweep(t, objdump, name, m, object)
	}
	t.Logf("%d instructions of %d kernels in %d objects", instructions, kernels, len(all))
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
