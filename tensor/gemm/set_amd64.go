//go:build !purego && !noasm && !race

package gemm

import (
	"maps"

	"golang.org/x/sys/cpu"
)

// nativeSets lists the kernel sets in assembly that this CPU can execute.
func nativeSets() (list []*Set) {
	x := &cpu.X86
	avx2 := x.HasAVX2 && x.HasFMA && x.HasF16C
	if avx2 && x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX512VNNI && x.HasAVX512VBMI && x.HasAVX512VBMI2 && x.HasAVX512GFNI {
		s := newNative("avx512")
		maps.Copy(s.unpack, avx512Unpackers)
		s.dot, s.dot256 = avx512Dots, avx512Quads
		s.product, s.float, s.reduce = avx512Products, avx512Floats, avx512Reduce
		list = append(list, s)
	}
	if avx2 {
		s := newNative("avx2")
		maps.Copy(s.unpack, avx2Unpackers)
		s.dot, s.dot256 = avx2Dots, avx2Eights
		s.product, s.float, s.reduce = avx2Products, avx2Floats, avx2Reduce
		list = append(list, s)
	}
	return list
}

// newNative returns a set with plain Go for what has no assembly.
func newNative(name string) *Set {
	s := &Set{name: name, quantize: map[Form]quantizeFunc{}, unpack: maps.Clone(generic.unpack)}
	for _, f := range formats {
		s.quantize[f.form] = quantizer(f.form)
	}
	return s
}

// quantizer is the quantizer of a form, in AVX2.
func quantizer(f Form) quantizeFunc {
	bias := int(f.bias)
	switch {
	case f.group == 32 && f.min:
		return func(dst []byte, x []float32) { avx2Quantize32Min(dst, x, 0) }
	case f.wide:
		return func(dst []byte, x []float32) { avx2Quantize32Wide(dst, x, bias) }
	case f.group == 32:
		return func(dst []byte, x []float32) { avx2Quantize32(dst, x, bias) }
	case f.min:
		return func(dst []byte, x []float32) { avx2Quantize16Min(dst, x, 0) }
	}
	return func(dst []byte, x []float32) { avx2Quantize16(dst, x, bias) }
}
