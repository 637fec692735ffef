package synth

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"gorun/tensor"
)

// A recipe makes random blocks of a type: random bytes are a valid block once
// its scale is set and what remains invalid or off balance is put right. The
// standard deviation of the elements at scale 1 is measured, not derived, so a
// recipe needs to know nothing of levels and codebooks.
type recipe struct {
	scales scaleKind
	// offset is the minimum of a type that has one, in units of the scale,
	// such that elements have mean zero.
	offset float64
	// finish makes block b, random bytes so far, valid. Random bits that a
	// scale replaces serve as the random choice it may need.
	finish func(b []byte, s *scale)
}

// scaleKind is the way a type writes its scale.
type scaleKind int

const (
	half  scaleKind = iota // f16
	e8m0                   // a power of two
	ue4m3                  // an unsigned 8-bit float
)

// scale is a scale as blocks hold it.
type scale struct {
	// d is an f16; m is the offset that goes with it.
	d, m uint16
	// Scales of one byte are too coarse for most values: of two neighbours,
	// high is taken with probability share/256, which gives the mean square.
	low, high byte
	share     int
}

// pick chooses a scale of one byte by a random one.
func (s *scale) pick(random byte) byte {
	if int(random) < s.share {
		return s.high
	}
	return s.low
}

// put writes d at b, put2 d and m.
func (s *scale) put(b []byte)  { binary.LittleEndian.PutUint16(b, s.d) }
func (s *scale) put2(b []byte) { binary.LittleEndian.PutUint32(b, uint32(s.d)|uint32(s.m)<<16) }

// putSigned writes d with a random sign: levels of these types are not
// symmetric.
func (s *scale) putSigned(b []byte) {
	binary.LittleEndian.PutUint16(b, s.d|binary.LittleEndian.Uint16(b)&0x8000)
}

// at returns a finish that only writes d, at an offset.
func at(offset int) func(b []byte, s *scale) {
	return func(b []byte, s *scale) { s.put(b[offset:]) }
}

// picks returns a finish that only chooses scales of one byte, in [from, to).
func picks(from, to int) func(b []byte, s *scale) {
	return func(b []byte, s *scale) {
		for i, random := range b[from:to] {
			b[from+i] = s.pick(random)
		}
	}
}

// recipes has all quantized types that can be computed with. Their layouts are
// in package tensor.
var recipes = map[tensor.Type]recipe{
	tensor.Q4_0: {finish: func(b []byte, s *scale) { s.putSigned(b) }},
	tensor.Q4_1: {offset: -7.5, finish: func(b []byte, s *scale) { s.put2(b) }},
	tensor.Q5_0: {finish: func(b []byte, s *scale) { s.putSigned(b) }},
	tensor.Q5_1: {offset: -15.5, finish: func(b []byte, s *scale) { s.put2(b) }},
	tensor.Q8_0: {finish: finishQ8_0},

	tensor.Q2_K: {offset: 1.5, finish: finishQ2_K},
	tensor.Q3_K: {finish: at(108)},
	tensor.Q4_K: {offset: 7.5, finish: finishQ45_K},
	tensor.Q5_K: {offset: 15.5, finish: finishQ45_K},
	tensor.Q6_K: {finish: finishQ6_K},

	tensor.IQ1_S:   {finish: at(0)},
	tensor.IQ1_M:   {finish: finishIQ1_M},
	tensor.IQ2_XXS: {finish: at(0)},
	tensor.IQ2_XS:  {finish: at(0)},
	tensor.IQ2_S:   {finish: at(0)},
	tensor.IQ3_XXS: {finish: at(0)},
	tensor.IQ3_S:   {finish: at(0)},
	tensor.IQ4_NL:  {finish: func(b []byte, s *scale) { s.putSigned(b) }},
	tensor.IQ4_XS:  {finish: at(0)},

	tensor.TQ1_0: {finish: at(52)},
	tensor.TQ2_0: {finish: finishTQ2_0},
	tensor.Q1_0:  {finish: at(0)},

	tensor.MXFP4: {scales: e8m0, finish: picks(0, 1)},
	tensor.NVFP4: {scales: ue4m3, finish: picks(0, 4)},

	tensor.Q4_0_ROCMFP4:      {scales: ue4m3, finish: picks(16, 18)},
	tensor.Q4_0_ROCMFP4_FAST: {scales: ue4m3, finish: picks(16, 17)},
	tensor.Q2_0_ROCMFPX:      {scales: ue4m3, finish: picks(8, 10)},
	tensor.Q3_0_ROCMFPX:      {scales: ue4m3, finish: picks(12, 14)},
	tensor.Q6_0_ROCMFPX:      {scales: ue4m3, finish: finishROCmFP6},
	tensor.Q8_0_ROCMFPX:      {scales: ue4m3, finish: finishROCmFP8},
}

// finishQ8_0 makes a q of -128, which no quantizer gives, zero.
func finishQ8_0(b []byte, s *scale) {
	s.put(b)
	const sign, rest = 0x8080808080808080, 0x7f7f7f7f7f7f7f7f
	for q := b[2:34]; len(q) > 0; q = q[8:] {
		x := binary.LittleEndian.Uint64(q)
		is128 := ^(x&rest + rest) & x & sign // the sign bit of bytes that are 0x80
		binary.LittleEndian.PutUint64(q, x&^is128)
	}
}

// finishQ2_K takes scales from 8 to 15, and mins of the same number.
func finishQ2_K(b []byte, s *scale) {
	for i, x := range b[:16] {
		x = x&7 | 8
		b[i] = x | x<<4
	}
	s.put2(b[80:])
}

// finishQ45_K takes scales from 32 to 63, and mins of the same number.
func finishQ45_K(b []byte, s *scale) {
	s.put2(b)
	scales := binary.LittleEndian.Uint32(b[4:]) | 0xa0a0a0a0
	low := binary.LittleEndian.Uint32(b[12:]) & 0x0f0f0f0f
	binary.LittleEndian.PutUint32(b[4:], scales)
	binary.LittleEndian.PutUint32(b[8:], scales)
	binary.LittleEndian.PutUint32(b[12:], low|low<<4)
}

// finishQ6_K takes scales from -16 to 15: larger ones would need a d with few
// bits.
func finishQ6_K(b []byte, s *scale) {
	for i, x := range b[192:208] {
		b[192+i] = byte(int8(x) >> 3)
	}
	s.put(b[208:])
}

// finishIQ1_M spreads d over four words.
func finishIQ1_M(b []byte, s *scale) {
	d := uint64(s.d)
	w := binary.LittleEndian.Uint64(b[48:]) & 0x0fff0fff0fff0fff
	w |= d&0xf<<12 | d&0xf0<<24 | d&0xf00<<36 | d&0xf000<<48
	binary.LittleEndian.PutUint64(b[48:], w)
}

// finishTQ2_0 makes a q of 3, which stands for no trit, 1, the code of zero.
func finishTQ2_0(b []byte, s *scale) {
	for i, x := range b[:64] {
		b[i] = x &^ (x << 1 & 0xaa)
	}
	s.put(b[64:])
}

// finishROCmFP6 takes odd levels up to 7: scales of this format do not go as
// low as weights with larger levels would need.
func finishROCmFP6(b []byte, s *scale) {
	for i := 0; i < 24; i += 3 {
		b[i] = b[i]&0xe7 | 0x41
		b[i+1] = b[i+1]&0x79 | 0x10
		b[i+2] = b[i+2]&0x9e | 0x04
	}
	picks(24, 26)(b, s)
}

// finishROCmFP8 takes odd levels up to 15, for the same reason.
func finishROCmFP8(b []byte, s *scale) {
	for i, x := range b[:32] {
		b[i] = byte(int8(x)>>3) | 1
	}
	b[32] = s.pick(b[32])
}

// scale returns the scale for elements of a standard deviation of std.
func (r recipe) scale(t tensor.Type, std float64) scale {
	v := std / deviation(t)
	if r.scales == half {
		return r.half(v)
	}
	return r.scales.between(v)
}

// half returns an f16 scale. With an offset it has few enough bits for that to
// be exact.
func (r recipe) half(v float64) scale {
	if r.offset == 0 {
		return scale{d: tensor.F32ToF16(float32(v))}
	}
	fraction, exponent := math.Frexp(v)
	v = math.Ldexp(math.Round(fraction*64)/64, exponent)
	return scale{d: tensor.F32ToF16(float32(v)), m: tensor.F32ToF16(float32(v * r.offset))}
}

// value is the value of a scale of one byte, of which half is taken as in
// package tensor.
func (k scaleKind) value(b int) float64 {
	if k == e8m0 {
		return math.Ldexp(1, b-128)
	}
	exponent, mantissa := b>>3, b&7
	if exponent == 0 {
		return math.Ldexp(float64(mantissa), -10)
	}
	return math.Ldexp(float64(8+mantissa), exponent-11)
}

// largest is the largest valid byte.
func (k scaleKind) largest() int {
	if k == e8m0 {
		return 254
	}
	return 126
}

// between returns the two scales around v.
func (k scaleKind) between(v float64) scale {
	high := 1
	for high < k.largest() && k.value(high) < v {
		high++
	}
	a, b := k.value(high-1), k.value(high)
	share := 256 * (v*v - a*a) / (b*b - a*a)
	return scale{low: byte(high - 1), high: byte(high), share: int(math.Round(min(max(share, 0), 256)))}
}

// fill writes whole blocks of type t whose elements have mean zero and the
// standard deviation std.
func fill(t tensor.Type, dst []byte, std float64, random *rand.PCG) {
	r, quantized := recipes[t]
	if !quantized {
		fillFloats(t, dst, std, random)
		return
	}
	s := r.scale(t, std)
	r.blocks(t, dst, &s, random)
}

func (r recipe) blocks(t tensor.Type, dst []byte, s *scale, random *rand.PCG) {
	fillBytes(dst, random)
	size := t.BlockBytes()
	for len(dst) >= size {
		r.finish(dst[:size:size], s)
		dst = dst[size:]
	}
}

// fillBytes fills dst with random bytes.
func fillBytes(dst []byte, random *rand.PCG) {
	for len(dst) >= 8 {
		binary.LittleEndian.PutUint64(dst, random.Uint64())
		dst = dst[8:]
	}
	if len(dst) > 0 {
		var last [8]byte
		binary.LittleEndian.PutUint64(last[:], random.Uint64())
		copy(dst, last[:])
	}
}

// deviations holds what deviation has measured.
var deviations sync.Map // tensor.Type to float64

// deviation is the standard deviation of the elements of random blocks of
// scale 1.
func deviation(t tensor.Type) float64 {
	if v, ok := deviations.Load(t); ok {
		return v.(float64)
	}
	const elements = 1 << 17
	r := recipes[t]
	s := r.scales.between(1)
	if r.scales == half {
		s = r.half(1)
	}
	block := make([]byte, elements/t.BlockSize()*t.BlockBytes())
	r.blocks(t, block, &s, rand.NewPCG(1, uint64(t)))
	values := make([]float32, elements)
	tensor.Dequantize(t, values, block)
	var sum float64
	for _, x := range values {
		sum += float64(x) * float64(x)
	}
	v := math.Sqrt(sum / elements)
	deviations.Store(t, v)
	return v
}

// fallback returns the type of a matrix with rows of n elements if t is asked
// for: t itself, or a similar one with smaller blocks.
func fallback(t tensor.Type, n int) tensor.Type {
	for n%t.BlockSize() != 0 {
		switch next, ok := smaller[t]; {
		case ok:
			t = next
		case t.BlockSize() > 32:
			t = tensor.IQ4_NL
		default:
			t = tensor.F16
		}
	}
	return t
}

// smaller holds the exceptions to iq4_nl.
var smaller = map[tensor.Type]tensor.Type{
	tensor.Q4_K:  tensor.Q5_0,
	tensor.Q5_K:  tensor.Q5_1,
	tensor.Q6_K:  tensor.Q8_0,
	tensor.Q1_0:  tensor.Q4_0,
	tensor.NVFP4: tensor.MXFP4,
}

// checkType refuses types that no matrix can have.
func checkType(t tensor.Type) error {
	if _, quantized := recipes[t]; quantized || t == tensor.F32 || t == tensor.F16 || t == tensor.BF16 {
		return nil
	}
	return fmt.Errorf("matrices cannot be of type %v", t)
}
