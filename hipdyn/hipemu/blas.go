package hipemu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"gorun/hipdyn/abi"
	"gorun/tensor"
)

// blas is a hipblasHandle_t.
type blas struct{ stream *stream }

// blasMajor is the number of the libhipblas of a release.
func (e *Emulator) blasMajor() int {
	return map[int]int{5: 0, 6: 2, 7: 3, 10: 4}[e.config.Runtime.Major()]
}

func (e *Emulator) hipblasCreate(out *uintptr) abi.Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	*out = e.handle(&blas{})
	return abi.StatusSuccess
}

func (e *Emulator) hipblasDestroy(h uintptr) abi.Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := lookup[*blas](e, "hipblasDestroy", h); !ok {
		return abi.StatusInvalidValue
	}
	delete(e.handles, h)
	return abi.StatusSuccess
}

func (e *Emulator) hipblasSetStream(h, streamHandle uintptr) abi.Status {
	s, code := e.stream("hipblasSetStream", streamHandle)
	e.mu.Lock()
	defer e.mu.Unlock()
	b, ok := lookup[*blas](e, "hipblasSetStream", h)
	if !ok || code != abi.Success {
		return abi.StatusInvalidValue
	}
	b.stream = s
	return abi.StatusSuccess
}

func (e *Emulator) hipblasGemmEx(h uintptr, transA, transB, m, n, k int32, alpha *float32, a uintptr, aType, lda int32, b uintptr, bType, ldb int32,
	beta *float32, c uintptr, cType, ldc, compute, algorithm int32) abi.Status {
	types := abi.BLASTypesV1
	if e.config.Runtime.Major() >= 7 {
		types = abi.BLASTypesV2
	}
	return e.gemm(types, gemm{h, transA, transB, m, n, k, *alpha, matrix{a, aType, lda}, matrix{b, bType, ldb}, *beta, matrix{c, cType, ldc}, compute, algorithm})
}

func (e *Emulator) hipblasGemmEx_v2(h uintptr, transA, transB, m, n, k int32, alpha *float32, a uintptr, aType, lda int32, b uintptr, bType, ldb int32,
	beta *float32, c uintptr, cType, ldc, compute, algorithm int32) abi.Status {
	return e.gemm(abi.BLASTypesV2, gemm{h, transA, transB, m, n, k, *alpha, matrix{a, aType, lda}, matrix{b, bType, ldb}, *beta, matrix{c, cType, ldc}, compute, algorithm})
}

// gemm is a call of hipblasGemmEx: c = alpha op(a) op(b) + beta c, matrices by
// columns.
type gemm struct {
	handle         uintptr
	transA, transB int32
	m, n, k        int32
	alpha          float32
	a, b           matrix
	beta           float32
	c              matrix
	compute        int32
	algorithm      int32
}

type matrix struct {
	at  uintptr
	typ int32
	ld  int32 // elements from a column to the next
}

func (e *Emulator) gemm(types abi.BLASTypes, g gemm) abi.Status {
	formats := map[int32]tensor.Type{types.F16: tensor.F16, types.BF16: tensor.BF16, types.F32: tensor.F32}
	_, okA := formats[g.a.typ]
	_, okB := formats[g.b.typ]
	switch {
	case !okA || !okB || g.compute != types.Compute || g.algorithm != abi.BLASDefault:
		return abi.StatusInvalidEnum
	case g.transA != abi.BLASTransposed || g.transB != abi.BLASPlain || g.c.typ != types.F32 || g.beta != 0:
		return abi.StatusNotSupported
	case g.m <= 0 || g.n <= 0 || g.k <= 0 || g.a.ld < g.k || g.b.ld < g.k || g.c.ld < g.m:
		return abi.StatusInvalidValue
	}
	e.mu.Lock()
	b, ok := lookup[*blas](e, "hipblasGemmEx", g.handle)
	if !ok || b.stream == nil {
		e.mu.Unlock()
		return abi.StatusInvalidValue
	}
	d := b.stream.dev
	bytes := func(x matrix, columns int32, t tensor.Type) uintptr {
		return uintptr(x.ld) * uintptr(columns) * uintptr(t.BlockBytes())
	}
	src0, ok0 := e.onDevice("hipblasGemmEx", d, g.a.at, bytes(g.a, g.m, formats[g.a.typ]))
	src1, ok1 := e.onDevice("hipblasGemmEx", d, g.b.at, bytes(g.b, g.n, formats[g.b.typ]))
	dst, ok2 := e.onDevice("hipblasGemmEx", d, g.c.at, bytes(g.c, g.n, tensor.F32))
	e.mu.Unlock()
	if !ok0 || !ok1 || !ok2 {
		return abi.StatusInvalidValue
	}
	e.enqueue(b.stream, "hipblasGemmEx", fmt.Sprintf("a product of %dx%dx%d", g.m, g.n, g.k), func(w *work) error {
		if err := errors.Join(e.use(w, src0, false), e.use(w, src1, false), e.use(w, dst, true)); err != nil {
			return err
		}
		read := func(p place, t tensor.Type) ([]float32, error) {
			raw := make([]byte, p.size)
			values := make([]float32, len(raw)/t.BlockBytes())
			err := d.mem.Read(raw, p.at)
			tensor.Dequantize(t, values, raw)
			return values, err
		}
		left, err0 := read(src0, formats[g.a.typ])
		right, err1 := read(src1, formats[g.b.typ])
		if err := errors.Join(err0, err1); err != nil {
			return err
		}
		for column := range int(g.n) {
			out := make([]byte, 4*g.m)
			for row := range int(g.m) {
				sum := 0.0
				for i := range int(g.k) {
					sum += float64(left[row*int(g.a.ld)+i]) * float64(right[column*int(g.b.ld)+i])
				}
				binary.LittleEndian.PutUint32(out[4*row:], math.Float32bits(float32(float64(g.alpha)*sum)))
			}
			if err := d.mem.Write(dst.at+uint64(4*column*int(g.c.ld)), out); err != nil {
				return err
			}
		}
		return nil
	})
	return abi.StatusSuccess
}
