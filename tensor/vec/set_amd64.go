//go:build !purego && !noasm && !race

package vec

import (
	"golang.org/x/sys/cpu"
)

//go:generate sh -c "cd ../attn/_asm && go run . -kernels vec -set avx512 -out ../../vec/avx512_amd64.s -stubs ../../vec/avx512_amd64.go -pkg vec"
//go:generate sh -c "cd ../attn/_asm && go run . -kernels vec -set avx2 -out ../../vec/avx2_amd64.s -stubs ../../vec/avx2_amd64.go -pkg vec"

// nativeSets lists the kernel sets in assembly that this CPU can execute.
func nativeSets() (list []*Set) {
	x := &cpu.X86
	if x.HasAVX2 && x.HasFMA && x.HasF16C {
		if x.HasAVX512F {
			list = append(list, avx512)
		}
		list = append(list, avx2)
	}
	return list
}

var avx512 = &Set{
	name:        "avx512",
	gated:       [functions]gatedFunc{avx512GatedSiLU, avx512GatedGELU, avx512GatedQuickGELU, avx512GatedSigmoid},
	activate:    [functions]activateFunc{avx512SiLU, avx512GELU, avx512QuickGELU, avx512Sigmoid},
	squares:     avx512Squares,
	scale:       avx512Scale,
	accumulate:  avx512Accumulate,
	halve:       avx512Halve,
	multiplyAdd: avx512MultiplyAdd,
	delta:       avx512Delta,
}

var avx2 = &Set{
	name:        "avx2",
	gated:       [functions]gatedFunc{avx2GatedSiLU, avx2GatedGELU, avx2GatedQuickGELU, avx2GatedSigmoid},
	activate:    [functions]activateFunc{avx2SiLU, avx2GELU, avx2QuickGELU, avx2Sigmoid},
	squares:     avx2Squares,
	scale:       avx2Scale,
	accumulate:  avx2Accumulate,
	halve:       avx2Halve,
	multiplyAdd: avx2MultiplyAdd,
	delta:       avx2Delta,
}
