package tensor

import (
	"fmt"
	"math"
	"strings"
)

// The turbo types are for the KV cache only: they are in no file, so no file
// can name them. They follow TurboQuant (Zandieh et al., arXiv 2504.19874),
// without its correction of inner products.
//
// A block is turned by a fixed rotation R, after which its values are as good
// as normally distributed, whatever they were. So a fixed codebook, optimal for
// the normal distribution (Lloyd and Max), serves every block:
//
//	y = R x        x = R^T (d * level[code])
//
// d is the length of x over that of its levels, so that lengths are kept.
// R = D2 (H/sqrt n) D1, with a Walsh-Hadamard matrix H between two diagonals of
// signs. R keeps products: those who turn their own side once (Rotate) use the
// levels as they are (Decode), and turn sums of them back (RotateBack).
//
//	 0    2
//	+----+-------------------------------------+
//	| d  | turbo4: n/2 bytes of two codes      |
//	+----+-------------------+-----------------+
//	| d  | turbo3: n/4 bytes | n/8 bytes of    |
//	|    | of four low pairs | eight high bits |
//	+----+-------------------+-----------------+
//	| d  | turbo2: n/4 bytes |
//	|    | of four codes     |
//	+----+-------------------+
//
// d is a half; the first code of a byte is in its lowest bits. Blocks are of
// 128 values, or of 64 for heads that would waste more (HeadType).
const (
	Turbo4 Type = kvOnly + iota
	Turbo3
	Turbo2
	turbo4Short
	turbo3Short
	turbo2Short
)

// kvOnly is the first of the types that no file can hold.
const kvOnly Type = 1 << 16

// kvTable is the table of those types.
var kvTable = [...]info{
	Turbo4 - kvOnly:      {"turbo4", 128, 66},
	Turbo3 - kvOnly:      {"turbo3", 128, 50},
	Turbo2 - kvOnly:      {"turbo2", 128, 34},
	turbo4Short - kvOnly: {"turbo4/64", 64, 34},
	turbo3Short - kvOnly: {"turbo3/64", 64, 26},
	turbo2Short - kvOnly: {"turbo2/64", 64, 18},
}

// turbo is what is particular to one number of bits.
type turbo struct {
	levels []float32 // in ascending order, for variance one
	middle []float32 // between them
	pack   func(dst []byte, codes *[128]byte, n int)
	unpack func(dst []float32, src []byte, levels []float32)
}

var turbos = [...]turbo{
	newTurbo(packNibblePairs, unpackNibblePairs, 0.12840, 0.38805, 0.65676, 0.94234, 1.25623, 1.61805, 2.06902, 2.73259),
	newTurbo(packTriples, unpackTriples, 0.24509, 0.75601, 1.34391, 2.15195),
	newTurbo(packQuarters, unpackQuarters, 0.45278, 1.51042),
}

// newTurbo makes a codebook of the given levels and their opposites.
func newTurbo(pack func([]byte, *[128]byte, int), unpack func([]float32, []byte, []float32), positive ...float32) turbo {
	t := turbo{pack: pack, unpack: unpack}
	for i := len(positive) - 1; i >= 0; i-- {
		t.levels = append(t.levels, -positive[i])
	}
	t.levels = append(t.levels, positive...)
	for i, level := range t.levels[1:] {
		t.middle = append(t.middle, (t.levels[i]+level)/2)
	}
	return t
}

// turbo is nil for other types.
func (t Type) turbo() *turbo {
	if t < kvOnly || int(t-kvOnly) >= len(kvTable) {
		return nil
	}
	return &turbos[(t-kvOnly)%3]
}

// HeadType is the form of t for heads of n values: of the two blocks of a
// turbo type the one that pads less, and the longer one of equals. Other types
// have one form.
func (t Type) HeadType(n int) Type {
	short := t + turbo4Short - Turbo4
	if t < Turbo4 || t > Turbo2 || paddedTo(n, t.BlockSize()) <= paddedTo(n, short.BlockSize()) {
		return t
	}
	return short
}

func paddedTo(n, block int) int { return (n + block - 1) / block * block }

// KVTypes lists the types that a KV cache may hold.
func KVTypes() []Type {
	return []Type{F32, F16, BF16, Q8_0, Q5_0, Q5_1, Q4_0, Q4_1, IQ4_NL, Turbo4, Turbo3, Turbo2}
}

// ParseKVType is ParseType for the types of a KV cache.
func ParseKVType(name string) (Type, error) {
	for _, t := range KVTypes() {
		if strings.EqualFold(t.String(), name) {
			return t, nil
		}
	}
	return 0, fmt.Errorf("the KV cache holds no %q: it holds %v", name, KVTypes())
}

// Decode is Dequantize, except that values of a rotated type stay rotated.
func Decode(t Type, dst []float32, src []byte) {
	b := t.turbo()
	if b == nil {
		Dequantize(t, dst, src)
		return
	}
	if err := t.checkLen(len(dst), len(src)); err != nil {
		panic(err.Error())
	}
	n, size := t.BlockSize(), t.BlockBytes()
	var levels [16]float32
	for ; len(dst) >= n; dst, src = dst[n:], src[size:] {
		d := F16ToF32(le.Uint16(src))
		for i, level := range b.levels {
			levels[i] = d * level
		}
		b.unpack(dst[:n], src[2:size], levels[:])
	}
}

// Rotate turns whole blocks of x as the type does; only turbo types do.
func Rotate(t Type, x []float32) {
	if t.turbo() == nil {
		return
	}
	for n := t.BlockSize(); len(x) > 0; x = x[n:] {
		turn(x[:n], &turboSigns[0], &turboSigns[1])
	}
}

// RotateBack undoes Rotate.
func RotateBack(t Type, x []float32) {
	if t.turbo() == nil {
		return
	}
	for n := t.BlockSize(); len(x) > 0; x = x[n:] {
		turn(x[:n], &turboSigns[1], &turboSigns[0])
	}
}

// turn multiplies by the first signs, the orthonormal Walsh-Hadamard matrix,
// and the last signs.
func turn(x []float32, first, last *[128]float32) {
	for i := range x {
		x[i] *= first[i]
	}
	for half := 1; half < len(x); half *= 2 {
		for at := 0; at < len(x); at += 2 * half {
			a, b := x[at:at+half], x[at+half:at+2*half]
			b = b[:len(a)]
			for i, u := range a {
				v := b[i]
				a[i], b[i] = u+v, u-v
			}
		}
	}
	scale := float32(1 / math.Sqrt(float64(len(x))))
	for i := range x {
		x[i] *= scale * last[i]
	}
}

// turboSigns are the two diagonals: bits of a Weyl sequence, scrambled.
var turboSigns = func() (signs [2][128]float32) {
	x := uint64(0)
	for d := range signs {
		for i := range signs[d] {
			x += 0x9e3779b97f4a7c15
			z := (x ^ x>>30) * 0xbf58476d1ce4e5b9
			signs[d][i] = 1
			if z>>63 != 0 {
				signs[d][i] = -1
			}
		}
	}
	return signs
}()

// quantizeTurbo encodes one block.
func (t Type) quantizeTurbo(dst []byte, src []float32) {
	b, n := t.turbo(), len(src)
	var values [128]float32
	y := values[:n]
	copy(y, src)
	// A block of the largest halves would overflow on the way.
	top := float32(0)
	for _, v := range y {
		top = max(top, v, -v)
	}
	if top == 0 {
		clear(dst)
		return
	}
	for i := range y {
		y[i] /= top
	}
	turn(y, &turboSigns[0], &turboSigns[1])
	length := norm(y)
	scale := float32(math.Sqrt(float64(n)) / length)
	var codes [128]byte
	sum := 0.0
	for i, v := range y {
		code := b.nearest(v * scale)
		codes[i] = code
		level := float64(b.levels[code])
		sum += float64(level * level)
	}
	le.PutUint16(dst, scaleF16(float32(float64(top)*length/math.Sqrt(sum))))
	b.pack(dst[2:], &codes, n)
}

// norm is the length of a vector. Products of float32 are exact in float64.
func norm(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(float64(v) * float64(v))
	}
	return math.Sqrt(sum)
}

// nearest is the code of the level nearest to v.
func (b *turbo) nearest(v float32) byte {
	code := 0
	for half := len(b.levels) / 2; half > 0; half /= 2 {
		if v > b.middle[code+half-1] {
			code += half
		}
	}
	return byte(code)
}

func packNibblePairs(dst []byte, codes *[128]byte, n int) {
	for i := range n / 2 {
		dst[i] = codes[2*i] | codes[2*i+1]<<4
	}
}

func unpackNibblePairs(dst []float32, src []byte, levels []float32) {
	l := (*[16]float32)(levels)
	for i, b := range src {
		y := (*[2]float32)(dst[2*i:])
		y[0], y[1] = l[b&15], l[b>>4]
	}
}

func packQuarters(dst []byte, codes *[128]byte, n int) {
	for i := range n / 4 {
		c := codes[4*i:]
		dst[i] = c[0]&3 | c[1]&3<<2 | c[2]&3<<4 | c[3]&3<<6
	}
}

func unpackQuarters(dst []float32, src []byte, levels []float32) {
	l := (*[4]float32)(levels)
	for i, b := range src {
		y := (*[4]float32)(dst[4*i:])
		y[0], y[1], y[2], y[3] = l[b&3], l[b>>2&3], l[b>>4&3], l[b>>6]
	}
}

func packTriples(dst []byte, codes *[128]byte, n int) {
	packQuarters(dst, codes, n)
	high := dst[n/4:]
	for i := range n / 8 {
		high[i] = 0
		for j, c := range codes[8*i:][:8] {
			high[i] |= c >> 2 << j
		}
	}
}

func unpackTriples(dst []float32, src []byte, levels []float32) {
	l := (*[8]float32)(levels)
	n := len(dst)
	low, high := src[:n/4], src[n/4:]
	for i, b := range low {
		y := (*[4]float32)(dst[4*i:])
		h := high[i/2] >> (4 * (i & 1))
		y[0], y[1] = l[b&3|h&1<<2], l[b>>2&3|h&2<<1]
		y[2], y[3] = l[b>>4&3|h&4], l[b>>6|h&8>>1]
	}
}
