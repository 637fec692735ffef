//go:build !purego && !noasm && !race

package attn

import (
	"golang.org/x/sys/cpu"

	"gorun/tensor"
)

//go:generate sh -c "cd _asm && go run . -set avx512 -out ../avx512_amd64.s -stubs ../avx512_amd64.go -pkg attn"
//go:generate sh -c "cd _asm && go run . -set avx2 -out ../avx2_amd64.s -stubs ../avx2_amd64.go -pkg attn"

// nativeSets lists the kernel sets in assembly that this CPU can execute.
func nativeSets() (list []*Set) {
	x := &cpu.X86
	if x.HasAVX2 && x.HasFMA && x.HasF16C {
		if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512VL && x.HasAVX512VNNI {
			list = append(list, avx512)
		}
		list = append(list, avx2)
	}
	return list
}

var avx512 = &Set{
	name: "avx512", softmax: avx512Softmax, softcap: avx512Softcap, blend: avx512Blend,
	types: map[tensor.Type]*kernels{
		tensor.F32: {
			dots: [...]dotsFunc{avx512DotsF324, avx512DotsF322, avx512DotsF321},
			add:  [...]addFunc{avx512AddF324, avx512AddF322, avx512AddF321},
			load: avx512LoadF32,
		},
		tensor.F16: {
			dots: [...]dotsFunc{avx512DotsF164, avx512DotsF162, avx512DotsF161},
			add:  [...]addFunc{avx512AddF164, avx512AddF162, avx512AddF161},
			load: avx512LoadF16,
		},
		tensor.BF16: {
			dots: [...]dotsFunc{avx512DotsBF164, avx512DotsBF162, avx512DotsBF161},
			add:  [...]addFunc{avx512AddBF164, avx512AddBF162, avx512AddBF161},
			load: avx512LoadBF16,
		},
		tensor.Q8_0: {
			dots: [...]dotsFunc{avx512DotsQ8_04, avx512DotsQ8_02, avx512DotsQ8_01},
			add:  [...]addFunc{avx512AddQ8_04, avx512AddQ8_02, avx512AddQ8_01},
			load: avx512LoadQ8_0, round: avx2Round,
		},
		tensor.Q4_0: {
			dots: [...]dotsFunc{avx512DotsQ4_04, avx512DotsQ4_02, avx512DotsQ4_01},
			add:  [...]addFunc{avx512AddQ4_04, avx512AddQ4_02, avx512AddQ4_01},
			load: avx512LoadQ4_0,
		},
		tensor.Q4_1: {
			dots: [...]dotsFunc{avx512DotsQ4_14, avx512DotsQ4_12, avx512DotsQ4_11},
			add:  [...]addFunc{avx512AddQ4_14, avx512AddQ4_12, avx512AddQ4_11},
			load: avx512LoadQ4_1,
		},
		tensor.Q5_0: {
			dots: [...]dotsFunc{avx512DotsQ5_04, avx512DotsQ5_02, avx512DotsQ5_01},
			add:  [...]addFunc{avx512AddQ5_04, avx512AddQ5_02, avx512AddQ5_01},
			load: avx512LoadQ5_0,
		},
		tensor.Q5_1: {
			dots: [...]dotsFunc{avx512DotsQ5_14, avx512DotsQ5_12, avx512DotsQ5_11},
			add:  [...]addFunc{avx512AddQ5_14, avx512AddQ5_12, avx512AddQ5_11},
			load: avx512LoadQ5_1,
		},
		tensor.IQ4_NL: {
			dots: [...]dotsFunc{avx512DotsIQ4_NL4, avx512DotsIQ4_NL2, avx512DotsIQ4_NL1},
			add:  [...]addFunc{avx512AddIQ4_NL4, avx512AddIQ4_NL2, avx512AddIQ4_NL1},
			load: avx512LoadIQ4_NL,
		},
		tensor.Turbo4: {load: avx512LoadTurbo4}, tensor.Turbo4.HeadType(64): {load: avx512LoadTurbo4Short},
		tensor.Turbo3: {load: avx512LoadTurbo3}, tensor.Turbo3.HeadType(64): {load: avx512LoadTurbo3Short},
		tensor.Turbo2: {load: avx512LoadTurbo2}, tensor.Turbo2.HeadType(64): {load: avx512LoadTurbo2Short},
	},
}

var avx2 = &Set{
	name: "avx2", softmax: avx2Softmax, softcap: avx2Softcap, blend: avx2Blend,
	types: map[tensor.Type]*kernels{
		tensor.F32: {
			dots: [...]dotsFunc{avx2DotsF324, avx2DotsF322, avx2DotsF321},
			add:  [...]addFunc{avx2AddF324, avx2AddF322, avx2AddF321},
			load: avx2LoadF32,
		},
		tensor.F16: {
			dots: [...]dotsFunc{avx2DotsF164, avx2DotsF162, avx2DotsF161},
			add:  [...]addFunc{avx2AddF164, avx2AddF162, avx2AddF161},
			load: avx2LoadF16,
		},
		tensor.BF16: {
			dots: [...]dotsFunc{avx2DotsBF164, avx2DotsBF162, avx2DotsBF161},
			add:  [...]addFunc{avx2AddBF164, avx2AddBF162, avx2AddBF161},
			load: avx2LoadBF16,
		},
		tensor.Q8_0: {
			dots: [...]dotsFunc{avx2DotsQ8_04, avx2DotsQ8_02, avx2DotsQ8_01},
			add:  [...]addFunc{avx2AddQ8_04, avx2AddQ8_02, avx2AddQ8_01},
			load: avx2LoadQ8_0, round: avx2Round,
		},
		tensor.Q4_0:   {load: avx2LoadQ4_0},
		tensor.Q4_1:   {load: avx2LoadQ4_1},
		tensor.Q5_0:   {load: avx2LoadQ5_0},
		tensor.Q5_1:   {load: avx2LoadQ5_1},
		tensor.IQ4_NL: {load: avx2LoadIQ4_NL},
		tensor.Turbo4: {load: avx2LoadTurbo4}, tensor.Turbo4.HeadType(64): {load: avx2LoadTurbo4Short},
		tensor.Turbo3: {load: avx2LoadTurbo3}, tensor.Turbo3.HeadType(64): {load: avx2LoadTurbo3Short},
		tensor.Turbo2: {load: avx2LoadTurbo2}, tensor.Turbo2.HeadType(64): {load: avx2LoadTurbo2Short},
	},
}
