package hipdyn

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Source is an implementation of HIP.
type Source struct {
	Name string   // where it is from, a path
	HIP  Resolver // libamdhip64
	// BLAS finds libhipblas, and the major number of its soname, for a runtime
	// of the given major number. Nil means that there is none.
	BLAS func(hipMajor int) (r Resolver, major int, err error)
}

// sonames are the names of the runtime: one without a number, then ROCm 10, 7,
// 6 and 5.
var sonames = []string{"libamdhip64.so", "libamdhip64.so.10", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"}

// blasMajors are the numbers of libhipblas that go with a number of libamdhip64.
var blasMajors = map[int][]int{5: {1, 0}, 6: {2}, 7: {3}, 10: {4}}

// libraryDirs are where the runtime may be: where $ROCM_PATH says, where the
// dynamic loader looks (""), and where ROCm is installed, newest first.
func libraryDirs(root fs.FS, rocmPath string) []string {
	dirs := []string{""}
	if rocmPath != "" {
		dirs = []string{filepath.Join(rocmPath, "lib"), ""}
	}
	dirs = append(dirs, "/opt/rocm/lib")
	for _, pattern := range []string{"opt/rocm/core-*/lib", "opt/rocm-*/lib"} {
		found, _ := fs.Glob(root, pattern) // the pattern is well-formed
		slices.SortFunc(found, func(a, b string) int { return -compareNumbered(a, b) })
		for _, dir := range found {
			dirs = append(dirs, "/"+dir)
		}
	}
	return dirs
}

// compareNumbered orders strings with the numbers in them as numbers, so that
// rocm-10.0 comes after rocm-7.2.
func compareNumbered(a, b string) int {
	digits := func(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
	for a != "" && b != "" {
		if m, n := digits(a), digits(b); m > 0 && n > 0 {
			x, _ := strconv.ParseUint(a[:m], 10, 64)
			y, _ := strconv.ParseUint(b[:n], 10, 64)
			if x != y {
				return compare(x, y)
			}
			a, b = a[m:], b[n:]
			continue
		}
		if a[0] != b[0] {
			return compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return compare(len(a), len(b))
}

func compare[T uint64 | byte | int](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// loader opens shared libraries; tests replace its parts.
type loader struct {
	root     fs.FS // of the file system
	rocmPath string
	open     func(path string) (Resolver, error)
	mapped   func(name string) string // path of a loaded library, or ""
}

// NotLoaded is the error of Open where there is no HIP runtime.
type NotLoaded struct {
	Tried []error // what was tried, in order, and why it failed
}

func (e *NotLoaded) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no HIP runtime (libamdhip64) could be loaded; %d places were tried:", len(e.Tried))
	for _, err := range e.Tried {
		fmt.Fprintf(&b, "\n  %v", err)
	}
	return b.String()
}

func (e *NotLoaded) Unwrap() []error { return e.Tried }

// load opens the first runtime that can be opened.
func (l *loader) load() (Source, error) {
	var tried []error
	for _, dir := range libraryDirs(l.root, l.rocmPath) {
		if dir != "" {
			if info, err := fs.Stat(l.root, strings.TrimPrefix(dir, "/")); err != nil || !info.IsDir() {
				tried = append(tried, fmt.Errorf("%s: no such directory", dir))
				continue
			}
		}
		for _, name := range sonames {
			path := filepath.Join(dir, name)
			r, err := l.open(path)
			if err == nil {
				// A file that is not HIP at all is passed over, too.
				_, err = resolve[hipFunctions](r)
			}
			if err != nil {
				tried = append(tried, explain(path, err))
				continue
			}
			if file := l.mapped("libamdhip64.so"); file != "" {
				path = file
			}
			return Source{path, r, func(major int) (Resolver, int, error) { return l.loadBLAS(filepath.Dir(path), major) }}, nil
		}
	}
	return Source{}, &NotLoaded{tried}
}

// explain names the path of an error; the dynamic loader mostly does so itself.
func explain(path string, err error) error {
	if strings.Contains(err.Error(), path) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// loadBLAS opens the libhipblas of the runtime's own tree; one of another
// release would load a second runtime.
func (l *loader) loadBLAS(dir string, hipMajor int) (Resolver, int, error) {
	majors, ok := blasMajors[hipMajor]
	if !ok {
		return nil, 0, fmt.Errorf("no libhipblas is known for HIP %d", hipMajor)
	}
	var tried []error
	for _, major := range majors {
		path := filepath.Join(dir, fmt.Sprintf("libhipblas.so.%d", major))
		r, err := l.open(path)
		if err == nil {
			return r, major, nil
		}
		tried = append(tried, explain(path, err))
	}
	return nil, 0, fmt.Errorf("no hipBLAS: %w", errors.Join(tried...))
}

// mappedFile finds the path of a shared library in this process.
func mappedFile(name string) string {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(maps)) {
		if i := strings.IndexByte(line, '/'); i >= 0 {
			if path := strings.TrimSpace(line[i:]); strings.HasPrefix(filepath.Base(path), name) {
				return path
			}
		}
	}
	return ""
}

// system loads the machine's runtime, once in a process: two runtimes in one
// process do not get along.
var system = sync.OnceValues(func() (Source, error) {
	if Supported != nil {
		return Source{}, Supported
	}
	l := &loader{os.DirFS("/"), os.Getenv("ROCM_PATH"), dlopen, mappedFile}
	return l.load()
})
