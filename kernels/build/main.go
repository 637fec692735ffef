// Command build compiles the kernels' sources with clang 19 and lld 19, as
// Debian packages them (clang-19, lld-19; no ROCm, no HIP headers):
//
//	go generate gorun/kernels          writes the objects
//	go run ./build -check              compares them with the ones that are there
//
// The objects are the same, byte for byte, wherever they are built with one
// version of the compiler.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
)

// compiler is the version that made the committed objects.
const compiler = "Debian clang version 19.1.7 (3~deb12u1)"

var targets = []string{"gfx1030", "gfx1100", "gfx1151", "gfx1201"}

// object is what a source file becomes, for each target.
type object struct {
	source string
	to     string // a directory and the beginning of a name
	flags  []string
}

// convergent works around an error of LLVM before 21, see permlane.hip.
var convergent = []string{"-mllvm", "-disable-machine-sink"}

var objects = []object{
	{"src/matvec.hip", "objects/matvec", convergent},
	{"src/rows.hip", "objects/rows", convergent},
	{"src/gemm.hip", "objects/gemm", convergent},
	{"src/faults.hip", "testdata/faults", convergent},
	{"src/permlane.hip", "testdata/permlane", convergent},
	{"src/permlane.hip", "testdata/permlane-broken", []string{"-DBROKEN"}},
}

// flags, beside those that choose the target. Without -fuse-cuid=none a hash of
// paths would be in the objects, without -fno-ident the compiler's name.
var flags = []string{
	"-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", "-nogpuinc", "-nogpulib",
	"-O3", "-std=c++20", "-ffp-contract=off", "-fuse-cuid=none", "-fno-ident", "-Wall", "-Werror",
}

func main() {
	clang := flag.String("clang", "clang++-19", "the compiler")
	check := flag.Bool("check", false, "compare with the objects that are there, and write nothing")
	flag.Parse()
	if err := run(*clang, *check); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func run(clang string, check bool) error {
	version, err := exec.Command(clang, "--version").Output()
	if err != nil {
		return fmt.Errorf("%w (Debian: apt-get install --no-install-recommends clang-19 lld-19)", err)
	}
	if !bytes.HasPrefix(version, []byte(compiler)) {
		line, _, _ := bytes.Cut(version, []byte("\n"))
		fmt.Fprintf(os.Stderr, "build: this is %s; the committed objects are made by %s, and others will differ\n", line, compiler)
	}
	temporary, err := os.MkdirTemp("", "kernels")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	var wg sync.WaitGroup
	slots := make(chan bool, runtime.NumCPU())
	errs := make([]error, len(objects)*len(targets))
	for i := range errs {
		o, target := objects[i/len(targets)], targets[i%len(targets)]
		wg.Go(func() {
			slots <- true
			defer func() { <-slots }()
			errs[i] = build(clang, o, target, filepath.Join(temporary, fmt.Sprint(i)), check)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// build makes one object. out is a temporary file.
func build(clang string, o object, target, out string, check bool) error {
	args := slices.Concat(flags, o.flags, []string{"--offload-arch=" + target, o.source, "-o", out})
	if text, err := exec.Command(clang, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s for %s: %w\n%s", o.source, target, err, text)
	}
	made, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	path := fmt.Sprintf("%s.%s.hsaco", o.to, target)
	if !check {
		return os.WriteFile(path, made, 0o644)
	}
	have, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(have, made) {
		return fmt.Errorf("%s is not what %s makes of %s: run go generate ./kernels", path, clang, o.source)
	}
	return nil
}
