package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// dotter multiplies pieces of 16 elements of each row with the one or two
// columns of a dot product. The levels stay in the order of the file; since the sums of a
// group are exact, only the four sums of each row must be added up and brought
// into the row's lane.
//
// Groups may end in any order. Their sums are kept where the tile has the
// first levels of the group, and added to the results in order at the end of
// the block.
type dotter struct {
	u     *unpacker
	x     []GPVirtual // of each column
	ahead GPVirtual   // what will be needed for the next rows
	acc   []VecVirtual
	piece []VecVirtual         // activations of the piece at hand, for each column and each of form.bytes
	sums  map[int][]VecVirtual // of groups that have begun, four for each of piece; AVX2: four
	done  map[int]int          // vectors that a group has had

	prefetched int // bytes of what a block prefetches

	zero    VecVirtual // AVX-512 only
	bias    Op         // AVX2 only
	factors []Op       // AVX2 only: what words that are widened are multiplied by
}

// dots generates the functions for one column and, where the registers
// suffice, for two, and returns the list of their names.
func dots(name string, f form, size, bytes int, body func(*unpacker) func()) string {
	dot(name+"x1", 1, f, size, bytes, body)
	list := v.name() + "Dot" + name + "x1"
	if v.rows() < tileRows || f.wide {
		return list
	}
	dot(name+"x2", 2, f, size, bytes, body)
	return list + ", " + v.name() + "Dot" + name + "x2"
}

// dotFunction begins the function that multiplies rows with few columns.
func dotFunction(name string) {
	function(name, "tile, w []byte, stride int, x []byte, xAt []int, dst []float32, dstAt []int, blocks, tiles, ahead int",
		"multiplies rows with few columns: see dotFunc.")
}

// eachTile goes over tiles of 16 rows. Parameters are its variables: w, tiles and, with store, dst are those of the tile at hand.
func (u *unpacker) eachTile(body func()) {
	Label("tile")
	body()
	rows := GP64()
	MOVQ(u.stride, rows)
	SHLQ(Imm(4), rows)
	ADDQ(rows, parameter(Param("w").Base()))
	DECQ(parameter(Param("tiles")))
	JNZ(LabelRef("tile"))
}

// store writes the results of as many rows as a vector has lanes.
func store(acc []VecVirtual) {
	for c, dst := range columnPointers("dst", 2, len(acc)) {
		VMOVUPS(acc[c], Mem{Base: dst})
	}
	ADDQ(Imm(uint64(4*v.rows())), parameter(Param("dst").Base()))
}

// parameter addresses a parameter.
func parameter(c gotypes.Component) Mem {
	p, err := c.Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}

// dot generates the function that multiplies rows of a type with n columns.
func dot(name string, n int, f form, size, bytes int, body func(*unpacker) func()) {
	dotFunction("Dot" + name)
	u := newUnpacker(f, size, bytes)
	d := &dotter{u: u, piece: make([]VecVirtual, n*len(f.bytes())), sums: map[int][]VecVirtual{}, done: map[int]int{}}
	u.dot = d
	if v.rows() < tileRows {
		d.bias = constant(0x80808080)
		d.factors = []Op{constant(0x00010001)}
		if f.wide {
			d.factors = []Op{constant(0x01000100), constant(0x00010001)}
		}
	}
	if v.rows() == tileRows {
		d.zero = v.reg()
		v.zero(d.zero)
	}
	block := body(u)
	for range n {
		d.acc = append(d.acc, v.reg())
	}
	u.eachTile(func() {
		d.ahead = GP64()
		Load(Param("ahead"), d.ahead)
		ADDQ(parameter(Param("w").Base()), d.ahead)
		for _, acc := range d.acc {
			v.zero(acc)
		}
		d.x = columnPointers("x", 0, n)
		u.loop(func() {
			d.prefetched = 0
			block()
			d.accumulate()
			for _, x := range d.x {
				ADDQ(U32(size/32*f.blockBytes()), x)
			}
			d.prefetch(v.rows() * bytes)
			ADDQ(U32(v.rows()*bytes), d.ahead)
		}, func() { // one column only
			store(d.acc)
			at := Load(Param("xAt").Base(), GP64())
			Load(Param("x").Base(), d.x[0])
			ADDQ(Mem{Base: at}, d.x[0])
			v.zero(d.acc[0])
		})
		if v.rows() == tileRows {
			store(d.acc)
		}
	})
	VZEROUPPER()
	RET()
}

// multiply takes u of elements [k/16*16, +16) of rows k/4%4, 4 + k/4%4, ...
func (d *dotter) multiply(r VecVirtual, k int) {
	g, i := k/d.u.group, k/4%4
	if i == 0 {
		for p := range d.piece {
			d.piece[p] = v.reg()
			v.repeat(d.pieceAt(p, k), d.piece[p])
			if v.rows() < tileRows {
				break // too few registers for the low bytes
			}
		}
	}
	first := d.done[g] < 4
	if v.rows() == tileRows {
		for p, piece := range d.piece {
			if first {
				d.sums[g] = append(d.sums[g], v.reg())
				VMOVDQA32(d.zero, d.sums[g][i*len(d.piece)+p])
			}
			VPDPBUSD(piece, r, d.sums[g][i*len(d.piece)+p])
		}
	} else {
		if first {
			d.sums[g] = append(d.sums[g], v.reg())
		}
		d.multiplyAVX2(r, k, d.sums[g][i], first)
	}
	if d.done[g]++; d.done[g] == d.u.group/4 {
		for c := range d.x {
			d.finish(g, c)
		}
		delete(d.sums, g)
		delete(d.done, g)
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
func (d *dotter) activation(c, k int) Mem {
	return Mem{Base: d.x[c], Disp: k/32*d.u.blockBytes() + k%32}
}

// multiplyAVX2 adds products to a sum, or begins one: a sum of 16 bits where two
// pieces do not overflow it, else of 32.
func (d *dotter) multiplyAVX2(r VecVirtual, k int, sum VecVirtual, first bool) {
	level, size := r, r
	if d.u.top == 255 { // see productAVX2
		level, size = v.reg(), v.reg()
		VPXOR(d.bias, r, level)
		VPABSB(level, size)
	}
	for i, q := range d.piece {
		t := sum
		if !first {
			t = v.reg()
		}
		if i > 0 {
			v.repeat(d.pieceAt(i, k), t)
			q = t
		}
		if d.u.top == 255 {
			VPSIGNB(level, q, t)
			q = t
		}
		VPMADDUBSW(q, size, t)
		if d.u.top > 63 {
			VPMADDWD(d.factors[i], t, t)
		}
		switch {
		case first:
		case d.u.top > 63:
			VPADDD(t, sum, sum)
		default:
			VPADDW(t, sum, sum)
		}
		first = false
	}
}

// finish adds up the sums of each row of a group and stores them.
func (d *dotter) finish(g, c int) {
	var sums [4]VecVirtual
	parts := len(d.u.form.bytes())
	for i := range sums {
		switch {
		case v.rows() == tileRows:
			sums[i] = d.sums[g][i*len(d.piece)+c*parts]
			if d.u.wide {
				VPSLLD(Imm(8), sums[i], sums[i])
				VPADDD(d.sums[g][i*len(d.piece)+c*parts+1], sums[i], sums[i])
			}
		default:
			sums[i] = d.sums[g][i]
			if d.u.top <= 63 {
				VPMADDWD(d.factors[0], sums[i], sums[i])
			}
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
	if !d.u.min && !(v.rows() < tileRows && d.u.top == 255) {
		correction := v.reg()
		VPBROADCASTD(d.correction(c, g), correction)
		VPADDD(correction, t[0], t[0])
	}
	VCVTDQ2PS(t[0], t[0])
	v.store(t[0], d.sum(c, g))
}

// pieceAt addresses activations of elements [k/16*16, +16): see piece.
func (d *dotter) pieceAt(p, k int) Mem {
	parts := d.u.form.bytes()
	m := d.activation(p/len(parts), k/16*16)
	m.Disp += parts[p%len(parts)]
	return m
}

// sum is where the sums of a group are kept.
func (d *dotter) sum(c, g int) Mem {
	return Mem{Base: d.u.tile, Disp: g*d.u.groupBytes() + 64*c}
}

// correction is what a block of activations has for the group: see blockBytes.
func (d *dotter) correction(c, g int) Mem {
	m := d.activation(c, g*d.u.group)
	m.Disp += 36 - g*d.u.group%32 + 4*(g%(32/d.u.group))
	return m
}

// accumulate adds the groups of the block to the results, in order.
func (d *dotter) accumulate() {
	for g := range d.u.size / d.u.group {
		at := g*d.u.groupBytes() + 16*d.u.group
		for c, acc := range d.acc {
			t := v.reg()
			scale := d.activation(c, g*d.u.group/32*32)
			scale.Disp += 32
			VBROADCASTSS(scale, t)
			VMULPS(Mem{Base: d.u.tile, Disp: at}, t, t)
			VFMADD231PS(d.sum(c, g), t, acc)
			if d.u.min {
				VBROADCASTSS(d.correction(c, g), t)
				VFMADD231PS(Mem{Base: d.u.tile, Disp: at + 64}, t, acc)
			}
		}
	}
}
