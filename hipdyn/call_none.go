//go:build !linux || !(amd64 || arm64) || static

package hipdyn

import (
	"errors"
	"fmt"
	"runtime"
)

// Supported is nil where this build can call HIP, and otherwise the reason.
var Supported = unsupported()

func unsupported() error {
	if runtime.GOOS == "linux" && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64") {
		return errors.New("this is the static build (-tags static), which cannot load HIP; the default build can")
	}
	return fmt.Errorf("HIP is supported on linux/amd64 and linux/arm64, not on %s/%s", runtime.GOOS, runtime.GOARCH)
}

func callC(fn uintptr, args ...uintptr) uintptr { panic(Supported) }

func threadID() int { return 0 }

func dlopen(path string) (Resolver, error) { return nil, Supported }

func goString(address uintptr) string { return "" }
