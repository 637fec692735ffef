//go:build !purego && !noasm && !race

package attn

import (
	"log/slog"
	"slices"

	"golang.org/x/sys/cpu"

	"gorun/tensor"
)

//go:generate sh -c "cd _asm && go run . -set avx512 -out ../avx512_amd64.s -stubs ../avx512_amd64.go -pkg attn"
//go:generate sh -c "cd _asm && go run . -set avx2 -out ../avx2_amd64.s -stubs ../avx2_amd64.go -pkg attn"

// nativeSets lists the kernel sets in assembly that this CPU can execute, and
// that pass their check.
func nativeSets() (list []*Set) {
	x := &cpu.X86
	if x.HasAVX2 && x.HasFMA && x.HasF16C {
		if x.HasAVX512F {
			list = append(list, avx512)
		}
		list = append(list, avx2)
	}
	return slices.DeleteFunc(list, func(s *Set) bool {
		err := s.Check()
		if err != nil {
			slog.Error("kernel set left out", "error", err)
		}
		return err != nil
	})
}

var avx512 = &Set{
	name:    "avx512",
	dots:    [...]dotsFunc{avx512Dots4, avx512Dots2, avx512Dots1},
	add:     [...]addFunc{avx512Add4, avx512Add2, avx512Add1},
	softmax: avx512Softmax,
	softcap: avx512Softcap,
	load: map[tensor.Type]loadFunc{
		tensor.F32: avx512LoadF32, tensor.F16: avx512LoadF16, tensor.BF16: avx512LoadBF16, tensor.Q8_0: avx512LoadQ8_0,
	},
}

var avx2 = &Set{
	name:    "avx2",
	dots:    [...]dotsFunc{avx2Dots4, avx2Dots2, avx2Dots1},
	add:     [...]addFunc{avx2Add4, avx2Add2, avx2Add1},
	softmax: avx2Softmax,
	softcap: avx2Softcap,
	load: map[tensor.Type]loadFunc{
		tensor.F32: avx2LoadF32, tensor.F16: avx2LoadF16, tensor.BF16: avx2LoadBF16, tensor.Q8_0: avx2LoadQ8_0,
	},
}
