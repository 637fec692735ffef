package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// dotter multiplies pieces of 16 elements of each row with the one column of
// a dot product. The levels stay in the order of the file; since the sums of a
// group are exact, only the four sums of each row must be added up and brought
// into the row's lane.
//
// Groups may end in any order. Their sums are kept where the tile has the
// first levels of the group, and added to the results in order at the end of
// the block.
type dotter struct {
	u     *unpacker
	x     GPVirtual
	ahead GPVirtual // what will be needed for the next rows
	acc   VecVirtual
	piece VecVirtual           // activations of the piece at hand
	sums  map[int][]VecVirtual // of groups that have begun
	done  map[int]int          // vectors that a group has had

	shift map[int]bool // groups whose u are 16 times too large

	prefetched int // bytes of what a block prefetches

	zero       VecVirtual // AVX-512 only
	ones, bias Op         // AVX2 only
}

// dot generates the function that multiplies rows of a type with one column.
func dot(name string, f form, size, bytes int, body func(*unpacker) func()) {
	function("Dot"+name, "tile, w []byte, stride int, x []byte, dst []float32, blocks, ahead int",
		"multiplies 16 rows with a column: see dotFunc.")
	u := newUnpacker(f, size, bytes)
	d := &dotter{u: u, x: GP64(), ahead: GP64(), acc: v.reg(), sums: map[int][]VecVirtual{}, done: map[int]int{}, shift: map[int]bool{}}
	u.dot = d
	if v.rows() < tileRows {
		d.ones, d.bias = constant(0x00010001), constant(0x80808080)
	}
	if v.rows() == tileRows {
		d.zero = v.reg()
		v.zero(d.zero)
	}
	block := body(u)
	dst := GP64()
	Load(Param("ahead"), d.ahead)
	w := Load(Param("w").Base(), GP64())
	ADDQ(w, d.ahead)
	Load(Param("dst").Base(), dst)
	Load(Param("x").Base(), d.x)
	v.zero(d.acc)
	u.loop(func() {
		d.prefetched = 0
		block()
		d.accumulate()
		ADDQ(U32(size/32*f.blockBytes()), d.x)
		d.prefetch(v.rows() * bytes)
		ADDQ(U32(v.rows()*bytes), d.ahead)
	}, func() {
		VMOVUPS(d.acc, Mem{Base: dst})
		ADDQ(Imm(uint64(4*v.rows())), dst)
		Load(Param("x").Base(), d.x)
		v.zero(d.acc)
	})
	if v.rows() == tileRows {
		VMOVUPS(d.acc, Mem{Base: dst})
	}
	VZEROUPPER()
	RET()
}

// multiply takes u of elements [k/16*16, +16) of rows k/4%4, 4 + k/4%4, ...
func (d *dotter) multiply(r VecVirtual, k int) {
	g, i := k/d.u.group, k/4%4
	if i == 0 {
		d.piece = v.reg()
		v.repeat(d.activation(k/16*16), d.piece)
	}
	sums := d.sums[g]
	if len(sums) < 4 {
		sums = append(sums, v.reg())
		d.sums[g] = sums
		d.product(r, sums[i], true)
	} else {
		d.product(r, sums[i], false)
	}
	if d.done[g]++; d.done[g] == d.u.group/4 {
		d.finish(g)
	}
}

// prefetch fetches, line by line, the next bytes from ahead on until n are
// fetched. A block does so little by little: a burst would fill the queue of
// misses and stop the loads.
func (d *dotter) prefetch(n int) {
	for ; d.prefetched < min(n, v.rows()*d.u.bytes); d.prefetched += 64 {
		PREFETCHT0(Mem{Base: d.ahead, Disp: d.prefetched})
	}
}

// activation addresses the activation of an element of the block.
func (d *dotter) activation(k int) Mem {
	return Mem{Base: d.x, Disp: k/32*d.u.blockBytes() + k%32}
}

// product adds products to a sum, or begins one. AVX2 has sums of 16 bits
// where two pieces do not overflow them, else of 32.
func (d *dotter) product(r, sum VecVirtual, first bool) {
	if v.rows() == tileRows {
		if first {
			VMOVDQA32(d.zero, sum)
		}
		VPDPBUSD(d.piece, r, sum)
		return
	}
	t, q := sum, d.piece
	if !first {
		t = v.reg()
	}
	if d.u.top == 255 { // see productAVX2
		level, size := v.reg(), v.reg()
		VPXOR(d.bias, r, level)
		VPABSB(level, size)
		q = v.reg()
		VPSIGNB(level, d.piece, q)
		r = size
	}
	VPMADDUBSW(q, r, t)
	if d.u.top > 63 {
		VPMADDWD(d.ones, t, t)
	}
	switch {
	case first:
	case d.u.top > 63:
		VPADDD(t, sum, sum)
	default:
		VPADDW(t, sum, sum)
	}
}

// finish adds up the sums of each row of a group and stores them.
func (d *dotter) finish(g int) {
	sums := d.sums[g]
	if v.rows() < tileRows && d.u.top <= 63 {
		for _, s := range sums {
			VPMADDWD(d.ones, s, s)
		}
	}
	var t [2]VecVirtual
	for i := range t {
		t[i] = v.reg()
		high := v.reg()
		VPUNPCKLDQ(sums[2*i+1], sums[2*i], t[i])
		VPUNPCKHDQ(sums[2*i+1], sums[2*i], high)
		VPADDD(high, t[i], t[i])
	}
	high := v.reg()
	VPUNPCKHQDQ(t[1], t[0], high)
	VPUNPCKLQDQ(t[1], t[0], t[0])
	VPADDD(high, t[0], t[0])
	if d.shift[g] {
		VPSRAD(Imm(4), t[0], t[0])
	}
	if !d.u.min && !(v.rows() < tileRows && d.u.top == 255) {
		correction := v.reg()
		VPBROADCASTD(d.correction(g), correction)
		VPADDD(correction, t[0], t[0])
	}
	VCVTDQ2PS(t[0], t[0])
	v.store(t[0], d.sum(g))
	delete(d.sums, g)
	delete(d.done, g)
	delete(d.shift, g)
}

// sum is where the sums of a group are kept.
func (d *dotter) sum(g int) Mem { return Mem{Base: d.u.tile, Disp: g * d.u.groupBytes()} }

// correction is what a block of activations has for the group: see blockBytes.
func (d *dotter) correction(g int) Mem {
	m := d.activation(g * d.u.group)
	m.Disp += 36 - g*d.u.group%32 + 4*(g%(32/d.u.group))
	return m
}

// accumulate adds the groups of the block to the results, in order.
func (d *dotter) accumulate() {
	for g := range d.u.size / d.u.group {
		base := d.u.tile
		t := v.reg()
		scale := d.activation(g * d.u.group / 32 * 32)
		scale.Disp += 32
		VBROADCASTSS(scale, t)
		at := g*d.u.groupBytes() + 16*d.u.group
		VMULPS(Mem{Base: base, Disp: at}, t, t)
		VFMADD231PS(d.sum(g), t, d.acc)
		if d.u.min {
			VBROADCASTSS(d.correction(g), t)
			VFMADD231PS(Mem{Base: base, Disp: at + 64}, t, d.acc)
		}
	}
}
