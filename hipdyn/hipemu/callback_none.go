//go:build !linux || !(amd64 || arm64) || static

package hipemu

import "gorun/hipdyn"

func newCallback(any) (uintptr, error) { return 0, hipdyn.Supported }

func threadID() int { return 0 }
