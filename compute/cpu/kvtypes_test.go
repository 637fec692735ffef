package cpu

import (
	"math"
	"strings"
	"testing"

	"gorun/compute"
	"gorun/tensor"
)

// TestKVHoldsNoNaN wants an error of the stream, and no panic, for keys that a
// type cannot hold.
func TestKVHoldsNoNaN(t *testing.T) {
	for _, typ := range tensor.KVTypes() {
		l, err := compute.NewKVLayout(1, 40, 40, false, typ, typ, 4)
		if err != nil {
			t.Fatal(err)
		}
		b := newBench(t, 2)
		values := make([]float32, 40)
		values[7] = float32(math.NaN())
		page := b.span(make([]byte, l.PageBytes()))
		b.s.StoreKV(l, b.matrix(1, 40, values), b.matrix(1, 40, make([]float32, 40)), []compute.KVRun{{Count: 1, Pages: []compute.Span{page}}})
		err = b.s.Sync()
		if plain := typ.BlockSize() == 1; plain != (err == nil) || !plain && !strings.Contains(err.Error(), "cannot hold") {
			t.Errorf("%v: %v", typ, err)
		}
		if err := b.s.Sync(); err != nil {
			t.Errorf("%v: the error is told twice: %v", typ, err)
		}
		b.close()
	}
}
