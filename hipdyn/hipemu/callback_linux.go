//go:build linux && (amd64 || arm64) && !static

package hipemu

import (
	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// newCallback makes a C function pointer.
func newCallback(fn any) (uintptr, error) { return purego.NewCallback(fn), nil }

func threadID() int { return unix.Gettid() }
