package hipdyn

import (
	"errors"
	"fmt"

	"gorun/hipdyn/abi"
)

// ErrClosed is the error of a call after Library.Close.
var ErrClosed = errors.New("hipdyn: the library is closed")

// noDevice is the device of an Error that is about none.
const noDevice = -1

// Error is a HIP call that failed. It unwraps to its code, so that
// errors.Is(err, abi.OutOfMemory) tells.
type Error struct {
	Call   string   // the C function
	Code   abi.Code // what it returned
	Text   string   // the library's own words, where they say more than the name
	Device int      // index, or -1
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %v", e.Call, e.Code)
	if e.Device != noDevice {
		s += fmt.Sprintf(" on device %d", e.Device)
	}
	if e.Text != "" && e.Text != e.Code.Name() {
		s += ": " + e.Text
	}
	return s
}

func (e *Error) Unwrap() error { return e.Code }

// Name is the code's name in the HIP headers.
func (e *Error) Name() string { return e.Code.Name() }

// check turns a code into an error.
func (f *hipFunctions) check(code abi.Code, call string, device int) error {
	if code == abi.Success {
		return nil
	}
	return &Error{call, code, goString(callC(uintptr(f.hipGetErrorString), uintptr(code))), device}
}
