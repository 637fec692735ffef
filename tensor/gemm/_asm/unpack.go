package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// unpacker generates the unpacking of one type: blocks of as many rows as a
// vector has lanes, one block of each row at a time.
type unpacker struct {
	form
	size, bytes int // of a block, in elements and in the file

	bases        []GPVirtual // every fourth row's block
	stride       GPVirtual
	stride3      GPVirtual
	tile, blocks GPVirtual

	dot *dotter // set when the block is to be multiplied, not unpacked
}

// unpacks generates the functions that Set.unpack lists.
func unpacks() {
	for _, t := range quantized {
		unpack(t.name, t.form, t.size, t.bytes, t.body)
		if t.dot && !(t.size == 256 && hasQuads(t.name)) {
			list := dots(t.name, t.form, t.size, t.bytes, t.body)
			fmt.Fprintf(&tables.dots, "\ttensor.%s: {%s},\n", t.name, list)
		}
	}
	for _, t := range eights {
		if hasQuads(t.name) {
			continue
		}
		list := dots(t.name+"Eight", t.form, 256, 8*t.bytes, t.body)
		fmt.Fprintf(&tables.eights, "\ttensor.%s: {%s},\n", t.name, list)
	}
}

// eights lists types of which the dot product takes eight blocks at a time.
var eights = []struct {
	name string
	form
	bytes int // of one block
	body  func(*unpacker) func()
}{
	{"Q4_0", form{group: 32, top: 15}, 18, eightQ4_0},
	{"Q8_0", form{group: 32, top: 255, wide: true}, 34, eightQ8_0},
	{"IQ4_NL", form{group: 32, top: 255}, 18, eightIQ4_NL},
	{"Q4_1", form{group: 32, top: 15, min: true}, 20, eightQ4_1},
	{"Q4_0_ROCMFP4", form{group: 16, top: 31}, 18, eightROCmFP4},
}

// quantized lists the types. The body makes constants and returns what
// generates the code for a block.
var quantized = []struct {
	name string
	form
	size, bytes int
	dot         bool
	body        func(*unpacker) func()
}{
	{"Q4_0", form{group: 32, top: 15}, 32, 18, true, unpackQ4_0},
	{"Q4_1", form{group: 32, top: 15, min: true}, 32, 20, true, unpackQ4_1},
	{"Q5_0", form{group: 32, top: 31}, 32, 22, true, unpackQ5_0},
	{"Q5_1", form{group: 32, top: 31, min: true}, 32, 24, true, unpackQ5_1},
	{"Q8_0", form{group: 32, top: 255, wide: true}, 32, 34, true, unpackQ8_0},
	{"Q2_K", form{group: 16, top: 15, min: true}, 256, 84, true, unpackQ2_K},
	{"Q3_K", form{group: 16, top: 15}, 256, 110, true, unpackQ3_K},
	{"Q4_K", form{group: 32, top: 15, min: true}, 256, 144, true, unpackQ4_K},
	{"Q5_K", form{group: 32, top: 31, min: true}, 256, 176, true, unpackQ5_K},
	{"Q6_K", form{group: 16, top: 63}, 256, 210, true, unpackQ6_K},
	{"IQ4_NL", form{group: 32, top: 255}, 32, 18, true, unpackIQ4_NL},
	{"IQ4_XS", form{group: 32, top: 255}, 256, 136, true, unpackIQ4_XS},
	{"IQ3_S", form{group: 32, top: 31}, 256, 110, true, unpackIQ3_S},
	{"IQ2_XXS", form{group: 32, top: 127}, 256, 66, true, unpackIQ2_XXS},
	{"IQ2_XS", form{group: 16, top: 127}, 256, 74, true, unpackIQ2_XS},
	{"IQ2_S", form{group: 16, top: 127}, 256, 82, true, unpackIQ2_S},
	{"MXFP4", form{group: 32, top: 31}, 32, 17, true, unpackMXFP4},
	{"Q4_0_ROCMFP4", form{group: 16, top: 31}, 32, 18, true, unpackROCmFP4},
	{"Q4_0_ROCMFP4_FAST", form{group: 32, top: 31}, 32, 17, true, unpackROCmFP4Fast},
	{"Q2_0_ROCMFPX", form{group: 16, top: 15}, 32, 10, true, unpackROCmFP2},
	{"Q3_0_ROCMFPX", form{group: 16, top: 15}, 32, 14, true, unpackROCmFP3},
	{"Q6_0_ROCMFPX", form{group: 16, top: 63}, 32, 26, true, unpackROCmFP6},
	{"Q8_0_ROCMFPX", form{group: 32, top: 255, wide: true}, 32, 33, true, unpackROCmFP8},
}

// unpack generates the function that makes a tile.
func unpack(name string, f form, size, bytes int, body func(*unpacker) func()) {
	fmt.Fprintf(&tables.unpacks, "\ttensor.%s: %sUnpack%s,\n", name, v.name(), name)
	function("Unpack"+name, "tile, w []byte, stride, blocks int",
		"makes a tile of 16 rows of that type: see unpackGeneric.")
	u := newUnpacker(f, size, bytes)
	block := body(u)
	u.loop(func() {
		block()
		ADDQ(U32(u.size/f.group*f.groupBytes()), u.tile)
	}, func() {
		Load(Param("tile").Base(), u.tile)
		ADDQ(U32(4*v.rows()), u.tile)
	})
	VZEROUPPER()
	RET()
}

func newUnpacker(f form, size, bytes int) *unpacker {
	u := &unpacker{form: f, size: size, bytes: bytes,
		stride: GP64(), stride3: GP64(), tile: GP64(), blocks: GP64()}
	Load(Param("tile").Base(), u.tile)
	Load(Param("stride"), u.stride)
	LEAQ(Mem{Base: u.stride, Index: u.stride, Scale: 2}, u.stride3)
	for range v.rows() / 4 {
		u.bases = append(u.bases, GP64())
	}
	return u
}

// loop goes over the blocks of rows, and over the halves of 16 rows if a
// vector has only eight; next prepares for the second half.
func (u *unpacker) loop(block, next func()) {
	w, half := GP64(), GP64()
	Load(Param("w").Base(), w)
	if v.rows() < tileRows {
		XORQ(half, half)
		Label("half")
	}
	for i, b := range u.bases {
		if i == 0 {
			MOVQ(w, b)
		} else {
			LEAQ(Mem{Base: u.bases[i-1], Index: u.stride, Scale: 4}, b)
		}
	}
	Load(Param("blocks"), u.blocks)
	Label("block")
	block()
	for _, b := range u.bases {
		ADDQ(U32(u.bytes), b)
	}
	DECQ(u.blocks)
	JNZ(LabelRef("block"))
	if v.rows() < tileRows {
		next()
		LEAQ(Mem{Base: w, Index: u.stride, Scale: 8}, w)
		XORQ(Imm(1), half)
		JNZ(LabelRef("half"))
	}
}

// at addresses a byte of the block of a row.
func (u *unpacker) at(row, offset int) Mem {
	m := Mem{Base: u.bases[row/4], Disp: offset}
	switch row % 4 {
	case 1:
		m.Index, m.Scale = u.stride, 1
	case 2:
		m.Index, m.Scale = u.stride, 2
	case 3:
		m.Index, m.Scale = u.stride3, 1
	}
	return m
}

// offset returns at for a fixed offset.
func (u *unpacker) offset(offset int) func(row int) Mem {
	return func(row int) Mem { return u.at(row, offset) }
}

// pieces returns 16 bytes at an offset of the block of each row: vector i has
// those of rows i, 4+i, 8+i, 12+i.
func (u *unpacker) pieces(offset int) (rows [4]VecVirtual) {
	for i := range rows {
		rows[i] = v.reg()
		for lane := range v.rows() / 4 {
			v.insert(lane, u.at(4*lane+i, offset), rows[i])
		}
		if u.dot != nil {
			u.dot.prefetch(u.dot.prefetched + 4*v.rows()*5/4)
		}
	}
	return rows
}

// pieces64 is pieces for 8 bytes, twice.
func (u *unpacker) pieces64(offset int) (rows [4]VecVirtual) {
	for i := range rows {
		rows[i] = u.piece64(offset, i)
	}
	return rows
}

// piece64 is vector i of pieces64.
func (u *unpacker) piece64(offset, i int) VecVirtual {
	r := v.reg()
	for lane := range v.rows() / 4 {
		v.insert64(lane, u.at(4*lane+i, offset), r)
	}
	if u.dot != nil {
		u.dot.prefetch(u.dot.prefetched + 2*v.rows()*5/4/4)
	}
	return r
}

// word returns the 32-bit word at an offset of the block of each row.
func (u *unpacker) word(offset int) VecVirtual {
	r := v.reg()
	VPBROADCASTD(u.at(0, offset), r) // a register without history
	for lane := range v.rows() / 4 {
		t := XMM()
		VMOVD(u.at(4*lane, offset), t)
		for i := 1; i < 4; i++ {
			VPINSRD(Imm(uint64(i)), u.at(4*lane+i, offset), t, t)
		}
		v.insertRegister(lane, t, r)
	}
	return r
}

// columns returns the four 32-bit words at an offset of the block of each row:
// vector i has word i of all rows.
func (u *unpacker) columns(offset int) [4]VecVirtual { return transpose(u.pieces(offset)) }

// codes returns columns for a tile and pieces for a dot product. What is done
// with them is the same, as long as it treats all bytes alike.
func (u *unpacker) codes(offset int) [4]VecVirtual {
	if u.dot != nil {
		return u.pieces(offset)
	}
	return u.columns(offset)
}

// transpose exchanges, in each four by four words that a lane of 128 bits has
// in the four vectors, rows and columns.
func transpose(a [4]VecVirtual) [4]VecVirtual {
	low01, high01, low23, high23 := v.reg(), v.reg(), v.reg(), v.reg()
	VPUNPCKLDQ(a[1], a[0], low01)
	VPUNPCKHDQ(a[1], a[0], high01)
	VPUNPCKLDQ(a[3], a[2], low23)
	VPUNPCKHDQ(a[3], a[2], high23)
	b := [4]VecVirtual{v.reg(), v.reg(), v.reg(), v.reg()}
	VPUNPCKLQDQ(low23, low01, b[0])
	VPUNPCKHQDQ(low23, low01, b[1])
	VPUNPCKLQDQ(high23, high01, b[2])
	VPUNPCKHQDQ(high23, high01, b[3])
	return b
}

// storeLevels stores the u of elements k to k+3 of the block, made of vector
// k/4%4 of codes.
func (u *unpacker) storeLevels(r VecVirtual, k int) {
	if u.dot != nil {
		u.dot.multiply(r, k)
		return
	}
	v.store(r, Mem{Base: u.tile, Disp: k/u.group*u.groupBytes() + 16*(k%u.group)})
}

// storePieces stores the u of 16 elements from k on, one row after the other
// as pieces returns them.
func (u *unpacker) storePieces(rows [4]VecVirtual, k int) {
	if u.dot == nil {
		rows = transpose(rows)
	}
	for j, r := range rows {
		u.storeLevels(r, k+4*j)
	}
}

// lookup replaces bytes below 16 by those of a table.
func lookup(index VecVirtual, table Op) VecVirtual {
	r := v.reg()
	if m, ok := table.(Mem); ok {
		v.load(m, r)
		VPSHUFB(index, r, r)
	} else {
		VPSHUFB(index, table, r)
	}
	return r
}

// storeTable stores the entries of a table that the low nibbles of codes name
// from element low on, and those of the high ones from element high on.
func (u *unpacker) storeTable(codes [4]VecVirtual, nibble, table Op, low, high int) {
	for j, w := range codes {
		u.storeLevels(lookup(masked(w, 0, nibble), table), low+4*j)
	}
	for j, w := range codes {
		u.storeLevels(lookup(masked(w, 4, nibble), table), high+4*j)
	}
}

// storeNibbles stores the low nibbles of codes from element low on, and the
// high ones from element high on.
func (u *unpacker) storeNibbles(codes [4]VecVirtual, nibble Op, low, high int) {
	for j, w := range codes {
		u.storeLevels(masked(w, 0, nibble), low+4*j)
	}
	for j, w := range codes {
		u.storeLevels(masked(w, 4, nibble), high+4*j)
	}
}

// storeScale stores s of a group.
func (u *unpacker) storeScale(r VecVirtual, group int) {
	v.store(r, Mem{Base: u.tile, Disp: group*u.groupBytes() + 16*u.group})
}

// storeMin stores m of a group.
func (u *unpacker) storeMin(r VecVirtual, group int) {
	v.store(r, Mem{Base: u.tile, Disp: group*u.groupBytes() + 16*u.group + 64})
}

// masked returns src, shifted right (left if negative), and mask.
func masked(src VecVirtual, right int, mask Op) VecVirtual {
	r := v.reg()
	switch {
	case right > 0:
		VPSRLD(Imm(uint64(right)), src, r)
		v.and(mask, r, r)
	case right < 0:
		VPSLLD(Imm(uint64(-right)), src, r)
		v.and(mask, r, r)
	default:
		v.and(mask, src, r)
	}
	return r
}

// scaled converts the lowest byte, unsigned, of src shifted right to float32
// and multiplies it by d. low is the mask 0xff.
func scaled(src VecVirtual, right int, low Op, d VecVirtual) VecVirtual {
	r := v.reg()
	if right == 24 {
		VPSRLD(Imm(24), src, r)
	} else {
		r = masked(src, right, low)
	}
	VCVTDQ2PS(r, r)
	VMULPS(d, r, r)
	return r
}

// scaledSigned is scaled for a signed byte.
func scaledSigned(src VecVirtual, right int, d VecVirtual) VecVirtual {
	r := v.reg()
	if right == 24 {
		VPSRAD(Imm(24), src, r)
	} else {
		VPSLLD(Imm(uint64(24-right)), src, r)
		VPSRAD(Imm(24), r, r)
	}
	VCVTDQ2PS(r, r)
	VMULPS(d, r, r)
	return r
}
