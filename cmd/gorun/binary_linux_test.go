package main

import (
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// build builds gorun without cgo and returns the file.
func build(t *testing.T, args ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds binaries")
	}
	file := filepath.Join(t.TempDir(), "gorun")
	c := exec.Command("go", append(append([]string{"build", "-o", file}, args...), ".")...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// interpreter is the dynamic loader that a binary asks for, or "".
func interpreter(t *testing.T, f *elf.File) string {
	t.Helper()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			text, err := io.ReadAll(p.Open())
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimRight(string(text), "\x00")
		}
	}
	return ""
}

// jail runs a program of a directory that is the root of its file system.
func jail(t *testing.T, root string, env []string, args ...string) (string, error) {
	t.Helper()
	c := exec.Command("/gorun", args...)
	c.Dir, c.Env = "/", env
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	if os.Getuid() != 0 { // in a namespace one may
		c.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	}
	out, err := c.CombinedOutput()
	if err != nil && strings.Contains(err.Error(), "operation not permitted") {
		t.Skip("this process may not change its root:", err)
	}
	return string(out), err
}

func install(t *testing.T, from, root, name string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o755); err != nil {
		t.Fatal(err)
	}
}

// The static build needs nothing but a kernel.
func TestStaticBuild(t *testing.T) {
	file := build(t, "-tags", "static")
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if i := interpreter(t, f); i != "" {
		t.Errorf("it asks for the loader %s", i)
	}
	if libraries, _ := f.ImportedLibraries(); len(libraries) != 0 {
		t.Errorf("it needs %v", libraries)
	}
	root := t.TempDir()
	install(t, file, root, "gorun")
	out, err := jail(t, root, nil, "run", "-p", "Dorothy", "-n", "3", "--temp", "0")
	if err != nil || out != " was quite" && !strings.HasPrefix(out, " was") {
		t.Errorf("in an empty root: %q, %v", out, err)
	}
	if out, err := jail(t, root, nil, "devices"); err != nil || !strings.Contains(out, "static build") {
		t.Errorf("devices: %q, %v", out, err)
	}
}

// The default build needs the C library, and no other: it loads HIP itself.
func TestDefaultBuild(t *testing.T) {
	file := build(t)
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	loader := interpreter(t, f)
	if loader == "" {
		t.Fatal("it asks for no loader, so that it cannot load HIP")
	}
	libraries, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	install(t, file, root, "gorun")
	install(t, loader, root, loader)
	for _, name := range libraries {
		switch name {
		case "libc.so.6", "libdl.so.2", "libpthread.so.0":
		default:
			t.Errorf("it needs %s", name)
		}
		install(t, findLibrary(t, name), root, "libraries/"+name)
	}
	out, err := jail(t, root, []string{"LD_LIBRARY_PATH=/libraries"}, "devices")
	if err != nil || !strings.Contains(out, "No GPU that gorun could use") {
		t.Fatalf("with the C library only: %q, %v", out, err)
	}
	for _, want := range []string{"6 places were tried", "libamdhip64.so.10: cannot open shared object file", "libamdhip64.so.5: cannot", "/opt/rocm/lib: no such directory"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in %s", want, out)
		}
	}
}

// findLibrary finds a library where distributions have them.
func findLibrary(t *testing.T, name string) string {
	t.Helper()
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	for _, dir := range []string{"/lib/" + arch + "-linux-gnu", "/usr/lib/" + arch + "-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib", "/lib"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return filepath.Join(dir, name)
		}
	}
	t.Skipf("the C library of this machine has no %s", name)
	return ""
}
