package gemm

import (
	"maps"
	"strings"
	"testing"

	"gorun/tensor"
)

func TestSelfTest(t *testing.T) {
	for _, s := range Sets.All() {
		if err := SelfTest(s); err != nil {
			t.Error(err)
		}
	}
}

// A broken kernel of any kind is found, and named.
func TestSelfTestFindsBrokenKernels(t *testing.T) {
	for _, s := range Sets.All() {
		broken := *s
		broken.unpack = maps.Clone(s.unpack)
		broken.unpack[tensor.Q5_K] = func(tile, w []byte, stride, blocks int) {
			s.unpack[tensor.Q5_K](tile, w, stride, blocks)
			tile[len(tile)/2] ^= 1
		}
		if err := SelfTest(&broken); err == nil || !strings.Contains(err.Error(), "q5_K") {
			t.Errorf("%s, broken unpacking: %v", s.Name(), err)
		}

		broken = *s
		broken.reduce = func(dst, partial []float32) {
			s.reduce(dst, partial)
			dst[len(dst)-1]++
		}
		if err := SelfTest(&broken); err == nil || !strings.Contains(err.Error(), "f32") {
			t.Errorf("%s, broken reduction: %v", s.Name(), err)
		}

		for width := range widths {
			key := formats[tensor.Q6_K].productKey()
			kernels := *s.product[key]
			if kernels[width] == nil {
				continue
			}
			kernels[width] = func(_, _ []byte, _ []int, dst []float32, dstAt []int, _, rows int, _ bool) {
				for _, at := range dstAt {
					clear(dst[at:][:rows])
				}
			}
			broken = *s
			broken.product = maps.Clone(s.product)
			broken.product[key] = &kernels
			if err := SelfTest(&broken); err == nil || !strings.Contains(err.Error(), "q6_K") {
				t.Errorf("%s, broken product of %d columns: %v", s.Name(), widths[width], err)
			}
		}

		broken = *s
		for name, dots := range map[string]*map[tensor.Type]*[dotColumns]dotFunc{"dot": &broken.dot, "dot256": &broken.dot256} {
			for typ, kernels := range *dots {
				for i, dot := range kernels {
					if dot == nil {
						continue
					}
					broken = *s
					changed := *kernels
					changed[i] = func(tile, w []byte, stride int, x []byte, xAt []int, dst []float32, dstAt []int, blocks, tiles, ahead int) {
						dot(tile, w, stride, x, xAt, dst, dstAt, blocks, tiles, ahead)
						dst[dstAt[0]+3] = -dst[dstAt[0]+3]
					}
					*dots = maps.Clone(*dots)
					(*dots)[typ] = &changed
					if err := SelfTest(&broken); err == nil || !strings.Contains(err.Error(), typ.String()) {
						t.Errorf("%s, broken %s of %v, %d columns: %v", s.Name(), name, typ, i+1, err)
					}
				}
			}
		}
	}
}
