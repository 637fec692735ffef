package sample

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
)

func TestExpAndLogAreAccurate(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const ulp = 0x1p-52
	for range 200_000 {
		x := (r.Float64() - 0.5) * math.Exp(14*r.Float64()-7)
		if got, want := exp(x), math.Exp(x); math.Abs(got/want-1) > 3*ulp {
			t.Fatalf("exp(%v) = %v; want %v", x, got, want)
		}
		y := math.Exp(x)
		if got, want := log(y), math.Log(y); math.Abs(got-want) > 3*ulp*math.Abs(want) {
			t.Fatalf("log(%v) = %v; want %v", y, got, want)
		}
	}
}

func TestExpAndLogAtTheEdges(t *testing.T) {
	for _, c := range []struct{ got, want float64 }{
		{exp(0), 1},
		{exp(-708), math.Exp(-708)},
		{exp(709), math.Exp(709)},
		{exp(-709), 0},
		{exp(-math.MaxFloat64), 0},
		{exp(negInf), 0},
		{exp(710), math.Inf(1)},
		{log(1), 0},
		{log(0.5), -math.Ln2},
		{log(math.E), 1},
	} {
		if c.got != c.want && math.Abs(c.got/c.want-1) > 1e-15 {
			t.Errorf("%v; want %v", c.got, c.want)
		}
	}
}

// The bits are the same on every processor; this sum of them stands for all.
func TestExpAndLogBits(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	h := fnv.New64a()
	var b [8]byte
	for range 10_000 {
		for _, v := range []float64{exp(-50 * r.Float64()), log(10 * r.Float64())} {
			for i := range b {
				b[i] = byte(math.Float64bits(v) >> (8 * i))
			}
			h.Write(b[:])
		}
	}
	if got, want := h.Sum64(), uint64(0x6f521d142a63cc92); got != want {
		t.Errorf("the results hash to %#x; want %#x", got, want)
	}
}
