// Package kernels has gorun's GPU kernels: HIP C++ sources (src), the code
// objects made of them for each instruction set (objects), and functions that
// launch them.
//
//	matvec_q8_0, matvec_q4_K   a quantized matrix times a vector
//	rms_norm, softmax          rows of float32
//	gemm_f16                   half floats, with matrix instructions
//
// The objects are committed, so that nothing but Go is needed to build gorun.
// go generate makes them anew; see build. Sources need no HIP headers.
//
// # Exactness
//
// Sums are taken in an order that does not depend on the target, fused
// multiply-adds are written as such, and exponentials are the formula of
// internal/f32. So all targets give the same bits, and a CPU can compute them,
// too, which is how the kernels are tested. gemm_f16 is the exception: the order
// in which a matrix instruction sums is not specified.
package kernels

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:generate go run ./build

//go:embed objects/*.hsaco
var objects embed.FS

// Targets lists the instruction sets that there are kernels for.
func Targets() []string { return []string{"gfx1030", "gfx1100", "gfx1151", "gfx1201"} }

// ErrTarget is the error of a device that there are no kernels for.
var ErrTarget = errors.New("no kernels for this instruction set")

// Object is the code object of a source file, "matvec" say, for a target.
func Object(name, target string) ([]byte, error) {
	if !slices.Contains(Targets(), target) {
		return nil, fmt.Errorf("%s: %w (there are %s)", target, ErrTarget, strings.Join(Targets(), ", "))
	}
	object, err := objects.ReadFile("objects/" + name + "." + target + ".hsaco")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no kernel source %q", name)
	}
	return object, err
}
