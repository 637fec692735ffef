//go:build linux && (amd64 || arm64) && !static

package hipdyn

import (
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// Supported is nil where this build can call HIP, and otherwise the reason.
var Supported error

// callC calls a C function of integers and pointers.
//
//go:uintptrescapes
func callC(fn uintptr, args ...uintptr) uintptr {
	result, _, _ := purego.SyscallN(fn, args...)
	return result
}

func threadID() int { return unix.Gettid() }

// dlopen loads a shared library for the life of the process: HIP does not
// survive being unloaded.
func dlopen(path string) (Resolver, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	return func(name string) (uintptr, error) { return purego.Dlsym(handle, name) }, nil
}

// goString copies a C string.
func goString(address uintptr) string {
	if address == 0 {
		return ""
	}
	return unix.BytePtrToString(*(**byte)(unsafe.Pointer(&address)))
}
