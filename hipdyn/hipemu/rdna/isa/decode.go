package isa

import (
	"encoding/binary"
	"fmt"
)

// Sources are numbers of 9 bits: scalar registers, constants, and from 256 on
// vector registers.
const (
	VCC       = 106
	TTMP      = 108 // to 123
	Exec      = 126
	inlineInt = 128 // 0 to 64, then -1 to -16
	inlineF   = 240 // 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1/2π
	SCC       = 253
	srcSDWA   = 249
	srcDPP16  = 250
	srcDPP8   = 233
	srcDPP8FI = 234
	Literal   = 255 // a word behind the instruction
	VGPR      = 256
)

// Permute is a kind of data movement between the lanes of the first source.
type Permute uint8

// Kinds of Permute.
const (
	NoPermute Permute = iota
	DPP16
	DPP8
)

// Selections of SDWA: bytes 0 to 3, words 0 and 1, all.
const SelectAll = 6

// Inst is a decoded instruction. Which fields mean something depends on the
// encoding.
type Inst struct {
	Op   *Op
	Dual *Op  // second half of VOPD
	Size int  // bytes
	Set  *Set // of the target
	D, E uint16
	Src  [3]uint16
	// DualD and DualSrc belong to Dual.
	DualD   uint16
	DualSrc [2]uint16

	Literal uint32
	Imm     uint16 // of SOPK and SOPP

	Neg, Abs, NegHi, OpSel, OpSelHi uint8 // a bit for each source; OpSel bit 3: destination
	Clamp                           bool
	Omod                            uint8 // 1: times 2, 2: times 4, 3: half

	Permute    Permute
	Ctrl       uint32 // of DPP16: 9 bits; of DPP8: 8 selectors of 3 bits
	RowMask    uint8
	BankMask   uint8
	BoundCtrl  bool // lanes that read nothing read zero
	FetchOff   bool // lanes may read lanes that are off
	DstSel     uint8
	DstUnused  uint8    // 0 zero, 1 sign extension, 2 preserve
	Sel        [2]uint8 // of sources
	SextOff    uint8    // bit for each source: sign extension
	Offset     int32
	Offset1    uint8 // of DS with two addresses; Offset is then the first
	ScalarAddr uint16
	VectorAddr bool  // scratch: a vector address is used
	Cache      uint8 // gfx10 and gfx11: 1 glc, 2 slc, 4 dlc; gfx12: scope, temporal hint << 2
	GDS        bool
	OffEn      bool
	IdxEn      bool
	LDS        bool
	TFE        bool
	format     uint8 // of gfx12 buffers
}

// Returns tells whether an atomic instruction returns what was there.
func (in *Inst) Returns() bool {
	if in.Set.Generation == 12 {
		return in.Cache>>2&1 != 0
	}
	return in.Cache&1 != 0
}

// Null is the register that ignores writes and reads as zero.
func (s *Set) Null() uint16 {
	if s.Generation == 10 {
		return 125
	}
	return 124
}

// M0 is the register M0.
func (s *Set) M0() uint16 {
	if s.Generation == 10 {
		return 124
	}
	return 125
}

// Decode decodes the instruction at the beginning of code.
func (s *Set) Decode(code []byte) (*Inst, error) {
	d := &decoder{set: s, code: code}
	in := &Inst{Set: s, DstSel: SelectAll, Sel: [2]uint8{SelectAll, SelectAll}}
	d.in = in
	w := d.word()
	if d.err == nil {
		d.decode(w)
	}
	if d.err == nil && in.Op == nil {
		d.err = fmt.Errorf("instruction word 0x%08x is not known to %s", w, s.Target)
	}
	if d.err != nil {
		return nil, d.err
	}
	in.Size = d.used
	return in, nil
}

type decoder struct {
	set  *Set
	in   *Inst
	code []byte
	used int
	err  error
}

func (d *decoder) word() uint32 {
	if len(d.code)-d.used < 4 {
		if d.err == nil {
			d.err = fmt.Errorf("code ends within an instruction")
		}
		return 0
	}
	w := binary.LittleEndian.Uint32(d.code[d.used:])
	d.used += 4
	return w
}

func (d *decoder) decode(w uint32) {
	in, gen := d.in, d.set.Generation
	switch {
	case w>>31 == 0:
		d.short(w)
	case w>>30 == 0b10:
		d.scalar(w)
	case w>>26 == 0b110101:
		d.vop3(w, VOP3, DPP3)
	case w>>24 == 0b11001100:
		d.vop3(w, VOP3P, DPP3P)
	case w>>26 == 0b110010 && gen >= 11:
		d.dual(w)
	case w>>26 == 0b111101:
		d.smem(w)
	case w>>26 == 0b110110:
		in.Op = d.set.op(DS, w>>18&0xff)
		w1 := d.word()
		in.Offset, in.Offset1 = int32(w&0xffff), uint8(w>>8)
		if in.Op != nil && in.Op.Has('2') {
			in.Offset &= 0xff
		}
		in.GDS = gen < 12 && w>>17&1 != 0
		in.Src = [3]uint16{uint16(w1&0xff) + VGPR, uint16(w1>>8&0xff) + VGPR, uint16(w1>>16&0xff) + VGPR}
		in.D = uint16(w1>>24) + VGPR
	case w>>26 == 0b110111 && gen < 12:
		d.flat(w)
	case w>>26 == 0b111011 && gen == 12:
		d.vflat(w)
	case w>>26 == 0b111000 && gen < 12:
		d.mubuf(w)
	case w>>26 == 0b110001 && gen == 12:
		d.vbuffer(w)
	}
}

// extra reads what follows a VOP1, VOP2 or VOPC, as told by its first source.
func (d *decoder) extra(plain, dpp, sdwa Encoding, code, src0 uint32) {
	in, gen := d.in, d.set.Generation
	switch {
	case src0 == srcDPP16 || src0 == srcDPP8 || src0 == srcDPP8FI:
		in.Op = d.set.op(dpp, code)
		d.dpp(src0)
	case src0 == srcSDWA && gen == 10:
		in.Op = d.set.op(sdwa, code)
		d.sdwa()
	default:
		in.Op = d.set.op(plain, code)
		d.literal(src0)
	}
}

func (d *decoder) short(w uint32) {
	in := d.in
	src0 := w & 0x1ff
	in.Src[0] = uint16(src0)
	switch w >> 25 {
	case 0b0111111:
		in.D = uint16(w>>17&0xff) + VGPR
		d.extra(VOP1, DPP1, SDWA1, w>>9&0xff, src0)
	case 0b0111110:
		in.Src[1] = uint16(w>>9&0xff) + VGPR
		in.D = VCC
		d.extra(VOPC, DPPC, SDWAC, w>>17&0xff, src0)
	default:
		in.D = uint16(w>>17&0xff) + VGPR
		in.Src[1] = uint16(w>>9&0xff) + VGPR
		d.extra(VOP2, DPP2, SDWA2, w>>25&0x3f, src0)
		d.always()
	}
	if in.Op != nil && in.Op.Operands != nil && in.Op.Operands[0].Field == 'd' && in.Op.Operands[0].Scalar {
		in.D -= VGPR // v_readfirstlane
	}
}

// literal reads a literal if one of the sources is one.
func (d *decoder) literal(sources ...uint32) {
	for _, s := range sources {
		if s == Literal {
			d.in.Literal = d.word()
			return
		}
	}
}

// always reads the literal of an instruction that always has one.
func (d *decoder) always() {
	if d.in.Op != nil && d.used == 4 && d.in.Op.fixedLiteral() {
		d.in.Literal = d.word()
	}
}

// LiteralText marks in tables.txt where an instruction prints a literal that
// it always has.
const LiteralText = "0x12345678"

func (o *Op) fixedLiteral() bool {
	for _, p := range o.Operands {
		if p.Text == LiteralText {
			return true
		}
	}
	return false
}

func (d *decoder) dpp(src0 uint32) {
	in := d.in
	w := d.word()
	in.Src[0] = uint16(w&0xff) + VGPR
	if src0 != srcDPP16 {
		in.Permute, in.Ctrl, in.FetchOff = DPP8, w>>8, src0 == srcDPP8FI
		return
	}
	in.Permute, in.Ctrl = DPP16, w>>8&0x1ff
	in.FetchOff, in.BoundCtrl = w>>18&1 != 0, w>>19&1 != 0
	in.Neg |= uint8(w>>20&1 | w>>22&1<<1)
	in.Abs |= uint8(w>>21&1 | w>>23&1<<1)
	in.BankMask, in.RowMask = uint8(w>>24&15), uint8(w>>28)
}

func (d *decoder) sdwa() {
	in := d.in
	w := d.word()
	src := func(at uint, r uint32) uint16 {
		if w>>at&1 != 0 {
			return uint16(r)
		}
		return uint16(r) + VGPR
	}
	in.Src[0] = src(23, w&0xff)
	if in.Src[1] >= VGPR {
		in.Src[1] = src(31, uint32(in.Src[1]-VGPR))
	}
	in.Sel = [2]uint8{uint8(w >> 16 & 7), uint8(w >> 24 & 7)}
	in.SextOff = uint8(w>>19&1 | w>>27&1<<1)
	in.Neg, in.Abs = uint8(w>>20&1|w>>28&1<<1), uint8(w>>21&1|w>>29&1<<1)
	if in.Op != nil && in.Op.Encoding == SDWAC {
		if w>>15&1 != 0 {
			in.D = uint16(w >> 8 & 0x7f)
		}
		return
	}
	in.DstSel, in.DstUnused = uint8(w>>8&7), uint8(w>>11&3)
	in.Clamp, in.Omod = w>>13&1 != 0, uint8(w>>14&3)
}

func (d *decoder) scalar(w uint32) {
	in := d.in
	in.D = uint16(w >> 16 & 0x7f)
	in.Src[0], in.Src[1] = uint16(w&0xff), uint16(w>>8&0xff)
	in.Imm = uint16(w)
	switch {
	case w>>23 == 0b101111111:
		in.Op = d.set.op(SOPP, w>>16&0x7f)
	case w>>23 == 0b101111110:
		in.Op = d.set.op(SOPC, w>>16&0x7f)
		d.literal(w&0xff, w>>8&0xff)
	case w>>23 == 0b101111101:
		in.Op = d.set.op(SOP1, w>>8&0xff)
		d.literal(w & 0xff)
	case w>>28 == 0b1011:
		in.Op = d.set.op(SOPK, w>>23&0x1f)
		d.always()
	default:
		in.Op = d.set.op(SOP2, w>>23&0x7f)
		d.literal(w&0xff, w>>8&0xff)
		d.always()
	}
}

func (d *decoder) vop3(w uint32, plain, dpp Encoding) {
	in := d.in
	w1 := d.word()
	src0 := w1 & 0x1ff
	in.Src = [3]uint16{uint16(src0), uint16(w1 >> 9 & 0x1ff), uint16(w1 >> 18 & 0x1ff)}
	code := w >> 16 & 0x3ff
	if plain == VOP3P {
		code &= 0x7f
		in.NegHi, in.OpSel, in.OpSelHi = uint8(w>>8&7), uint8(w>>11&7), uint8(w1>>27&3)|uint8(w>>14&1<<2)
	} else {
		in.Abs, in.OpSel = uint8(w>>8&7), uint8(w>>11&15)
		in.Omod = uint8(w1 >> 27 & 3)
	}
	in.Clamp, in.Neg = w>>15&1 != 0, uint8(w1>>29)
	in.D = uint16(w & 0xff)
	permuted := d.set.Generation >= 11 && (src0 == srcDPP16 || src0 == srcDPP8 || src0 == srcDPP8FI)
	e := plain
	if permuted {
		e = dpp
	}
	if in.Op = d.set.op(e, code); in.Op == nil {
		return
	}
	scalarD := false
	for _, o := range in.Op.Operands {
		if o.Field == 'e' {
			in.E, in.Abs, in.OpSel = uint16(w>>8&0x7f), 0, 0
		}
		scalarD = scalarD || o.Field == 'd' && o.Scalar
	}
	if !scalarD && !in.Op.isCompare() {
		in.D += VGPR
	}
	if permuted {
		neg, abs := in.Neg, in.Abs
		d.dpp(src0)
		in.Neg, in.Abs = neg, abs // those of the third word are not used
		return
	}
	d.literal(src0, w1>>9&0x1ff, w1>>18&0x1ff)
}

func (o *Op) isCompare() bool {
	return len(o.Base) > 5 && o.Base[:5] == "v_cmp"
}

func (d *decoder) dual(w uint32) {
	in := d.in
	w1 := d.word()
	in.Op, in.Dual = d.set.op(VOPDX, w>>22&15), d.set.op(VOPDY, w>>17&31)
	if in.Dual == nil {
		in.Op = nil
		return
	}
	x, y := w&0x1ff, w1&0x1ff
	in.Src[0], in.Src[1] = uint16(x), uint16(w>>9&0xff)+VGPR
	in.DualSrc = [2]uint16{uint16(y), uint16(w1>>9&0xff) + VGPR}
	dx := uint16(w1 >> 24)
	in.D = dx + VGPR
	in.DualD = uint16(w1>>17&0x7f)<<1 | ^dx&1 + VGPR
	d.literal(x, y)
	if d.used == 8 && in.Op != nil && (in.Op.fixedLiteral() || in.Dual.fixedLiteral()) {
		in.Literal = d.word()
	}
}

func (d *decoder) smem(w uint32) {
	in := d.in
	w1 := d.word()
	in.Src[0] = uint16(w&0x3f) << 1
	in.D = uint16(w >> 6 & 0x7f)
	in.ScalarAddr = uint16(w1 >> 25)
	switch d.set.Generation {
	case 12:
		in.Op = d.set.op(SMEM, w>>13&0x3f)
		in.Offset = int32(w1<<8) >> 8
		in.Cache = uint8(w>>21&3 | w>>23&3<<2)
	default:
		in.Op = d.set.op(SMEM, w>>18&0xff)
		in.Offset = int32(w1<<11) >> 11
		if d.set.Generation == 10 {
			in.Cache = uint8(w>>16&1 | w>>14&1<<2)
		} else {
			in.Cache = uint8(w>>14&1 | w>>13&1<<2)
		}
	}
}

var segments = [4]Encoding{FLAT, SCRATCH, GLOBAL, encodings}

func (d *decoder) flat(w uint32) {
	in := d.in
	w1 := d.word()
	in.Src[0], in.Src[1] = uint16(w1&0xff)+VGPR, uint16(w1>>8&0xff)+VGPR
	in.D = uint16(w1>>24) + VGPR
	in.ScalarAddr = uint16(w1 >> 16 & 0x7f)
	var seg Encoding
	if d.set.Generation == 10 {
		seg = segments[w>>14&3]
		in.Offset = int32(w<<20) >> 20
		in.LDS = w>>13&1 != 0
		in.Cache = uint8(w>>16&1 | w>>17&1<<1 | w>>12&1<<2)
		in.VectorAddr = in.ScalarAddr == d.set.Null()
		if in.ScalarAddr == 0x7f { // neither of them
			in.ScalarAddr = d.set.Null()
		}
		if seg == FLAT {
			in.Offset &= 0xfff
		}
	} else {
		seg = segments[w>>16&3]
		in.Offset = int32(w<<19) >> 19
		in.Cache = uint8(w>>14&1 | w>>15&1<<1 | w>>13&1<<2)
		in.VectorAddr = w1>>23&1 != 0
		if seg == FLAT {
			in.Offset &= 0x1fff
		}
	}
	if seg != encodings {
		in.Op = d.set.op(seg, w>>18&0x7f)
	}
}

func (d *decoder) vflat(w uint32) {
	in := d.in
	w1, w2 := d.word(), d.word()
	if seg := segments[w>>24&3]; seg != encodings {
		in.Op = d.set.op(seg, w>>14&0xff)
	}
	in.ScalarAddr = uint16(w & 0x7f)
	in.D, in.Src[1], in.Src[0] = uint16(w1&0xff)+VGPR, uint16(w1>>23&0xff)+VGPR, uint16(w2&0xff)+VGPR
	in.VectorAddr = w1>>17&1 != 0
	in.Cache = uint8(w1>>18&3 | w1>>20&7<<2)
	in.Offset = int32(w2) >> 8
}

func (d *decoder) mubuf(w uint32) {
	in := d.in
	w1 := d.word()
	in.Src[0], in.D = uint16(w1&0xff)+VGPR, uint16(w1>>8&0xff)+VGPR
	in.Src[1] = uint16(w1>>16&0x1f) << 2
	in.ScalarAddr = uint16(w1 >> 24)
	in.Offset = int32(w & 0xfff)
	if d.set.Generation == 10 {
		in.Op = d.set.op(MUBUF, w>>18&0x7f|w>>25&1<<7)
		in.OffEn, in.IdxEn, in.LDS = w>>12&1 != 0, w>>13&1 != 0, w>>16&1 != 0
		in.Cache = uint8(w>>14&1 | w1>>22&1<<1 | w>>15&1<<2)
		in.TFE = w1>>23&1 != 0
	} else {
		in.Op = d.set.op(MUBUF, w>>18&0xff)
		in.OffEn, in.IdxEn, in.TFE = w1>>22&1 != 0, w1>>23&1 != 0, w1>>21&1 != 0
		in.Cache = uint8(w>>14&1 | w>>12&1<<1 | w>>13&1<<2)
	}
	in.Src[2] = in.ScalarAddr
}

func (d *decoder) vbuffer(w uint32) {
	in := d.in
	w1, w2 := d.word(), d.word()
	in.Op = d.set.op(MUBUF, w>>14&0xff)
	in.ScalarAddr = uint16(w & 0x7f)
	in.TFE = w>>22&1 != 0
	in.D, in.Src[1], in.Src[0] = uint16(w1&0xff)+VGPR, uint16(w1>>9&0x1ff), uint16(w2&0xff)+VGPR
	in.Cache = uint8(w1>>18&3 | w1>>20&7<<2)
	in.format = uint8(w1 >> 23 & 0x7f)
	in.OffEn, in.IdxEn = w1>>30&1 != 0, w1>>31 != 0
	in.Offset = int32(w2) >> 8
	in.Src[2] = in.ScalarAddr
}
