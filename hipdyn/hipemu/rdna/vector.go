package rdna

import (
	"math/bits"
	"strings"

	"gorun/hipdyn/hipemu/rdna/isa"
)

// laneFunc computes one lane. Operands and results are the low bits.
type laneFunc func(a, b, c uint64) uint64

// vectorOp is what a vector instruction does. Its signature is the type of the
// result, a colon, and those of the sources:
//
//	f h B d   float32, float16, bfloat16, float64: sources take negation and
//	          absolute value, results are clamped to 0..1
//	u w q z   32, 16 and 64 bits; 64 bits with a sign
//	P Q U     two float16, two bfloat16, two of 16 bits
//	m         a bit of each lane, from or to a scalar register
//	D         what the destination holds
//	V         VCC
//
// A result "um" has its second part in bit 32 (64 bits: see custom).
type vectorOp struct {
	sig    string
	fn     laneFunc
	sat    laneFunc // where the clamp bit asks for saturation
	custom func(w *wave, st *step)
	fast   fastFunc
	trans  bool
}

// fastFunc computes all lanes of an instruction without modifiers.
type fastFunc func(d, a, b, c *[lanes]uint32)

// source is an operand of a vector instruction.
type source struct {
	typ      byte
	kind     sourceKind
	reg      uint16
	value    uint64
	neg, abs bool
	high     bool // the upper half
	sel      uint8
	sext     bool
	permuted bool
}

type sourceKind uint8

const (
	noSource sourceKind = iota
	fromVector
	fromScalar
	fromConstant
	fromMask
)

// dest is the destination of a vector instruction.
type dest struct {
	typ     byte
	reg     uint16
	mask    uint16 // register of the second result
	high    bool
	clamp   bool
	sel     uint8
	unused  uint8
	hasMask bool
}

// wide types take two registers.
func wide(typ byte) bool { return typ == 'd' || typ == 'q' || typ == 'z' }

func half(typ byte) bool { return typ == 'h' || typ == 'w' || typ == 'B' }

func (w *wave) fetch(s *source, buf *values) {
	switch s.kind {
	case fromVector:
		r := int(s.reg - isa.VGPR)
		lo := &w.v[r]
		switch {
		case wide(s.typ):
			hi := &w.v[r+1]
			for i := range buf {
				buf[i] = uint64(lo[i]) | uint64(hi[i])<<32
			}
		case s.permuted:
			w.permute(lo, buf)
		default:
			for i := range buf {
				buf[i] = uint64(lo[i])
			}
		}
	case fromScalar:
		var v uint64
		if wide(s.typ) {
			v = w.scalar64(s.reg, s.typ)
		} else {
			v = uint64(w.scalar(s.reg))
		}
		for i := range buf {
			buf[i] = v
		}
	case fromConstant:
		for i := range buf {
			buf[i] = s.value
		}
	case fromMask:
		m := w.scalar(s.reg)
		for i := range buf {
			buf[i] = uint64(m >> i & 1)
		}
		return
	}
	if s.sel != isa.SelectAll {
		w.selectPart(s, buf)
	}
	if half(s.typ) {
		shift := uint(0)
		if s.high {
			shift = 16
		}
		for i := range buf {
			buf[i] = buf[i] >> shift & 0xffff
		}
	}
	if s.neg || s.abs {
		sign := signOf(s.typ)
		for i := range buf {
			if s.abs {
				buf[i] &^= sign
			}
			if s.neg {
				buf[i] ^= sign
			}
		}
	}
}

func signOf(typ byte) uint64 {
	switch {
	case typ == 'd':
		return sign64
	case half(typ):
		return sign16
	}
	return sign32
}

// selectPart takes a byte or a word, as SDWA asks for.
func (w *wave) selectPart(s *source, buf *values) {
	width, shift := uint(8), uint(s.sel)*8
	if s.sel >= 4 {
		width, shift = 16, uint(s.sel-4)*16
	}
	for i := range buf {
		v := buf[i] >> shift & (1<<width - 1)
		if s.sext {
			v = uint64(uint32(int32(v<<(32-width)) >> (32 - width)))
		}
		buf[i] = v
	}
}

// store writes a result to the lanes of a mask.
func (w *wave) store(d *dest, res *values, mask uint32) {
	if d.clamp {
		clampFloat(d.typ, res)
	}
	switch d.typ {
	case 'm':
		m := uint32(0)
		for i := range res {
			m |= uint32(res[i]&1) << i
		}
		w.setScalar(d.reg, m&mask)
		return
	case 's': // a scalar register
		w.setScalar(d.reg, uint32(res[0]))
		return
	}
	r := int(d.reg - isa.VGPR)
	lo := &w.v[r]
	if d.sel != isa.SelectAll {
		w.storePart(d, res, mask)
		return
	}
	switch {
	case wide(d.typ):
		hi := &w.v[r+1]
		for i := range res {
			if mask>>i&1 != 0 {
				lo[i], hi[i] = uint32(res[i]), uint32(res[i]>>32)
			}
		}
	case half(d.typ) && d.high:
		for i := range res {
			if mask>>i&1 != 0 {
				lo[i] = lo[i]&0xffff | uint32(res[i])<<16
			}
		}
	case half(d.typ):
		for i := range res {
			if mask>>i&1 != 0 {
				lo[i] = lo[i]&^0xffff | uint32(res[i]&0xffff)
			}
		}
	case mask == allOn:
		for i := range res {
			lo[i] = uint32(res[i])
		}
	default:
		for i := range res {
			if mask>>i&1 != 0 {
				lo[i] = uint32(res[i])
			}
		}
	}
	if d.hasMask {
		m := uint32(0)
		for i := range res {
			m |= uint32(res[i]>>32&1) << i
		}
		w.setScalar(d.mask, m&mask)
	}
}

func (w *wave) storePart(d *dest, res *values, mask uint32) {
	width, shift := uint(8), uint(d.sel)*8
	if d.sel >= 4 {
		width, shift = 16, uint(d.sel-4)*16
	}
	part := uint32(1<<width - 1)
	lo := &w.v[d.reg-isa.VGPR]
	for i := range res {
		if mask>>i&1 == 0 {
			continue
		}
		v := uint32(res[i]) & part
		switch d.unused {
		case 0:
			lo[i] = v << shift
		case 1: // the sign above, zero below
			lo[i] = uint32(int32(v<<(32-width))>>(32-width)) << shift
		default:
			lo[i] = lo[i]&^(part<<shift) | v<<shift
		}
	}
}

// clampFloat limits to 0..1; NaN becomes 0.
func clampFloat(typ byte, res *values) {
	for i, r := range res {
		switch typ {
		case 'f':
			f := f32of(r)
			switch {
			case !(f > 0):
				res[i] = 0
			case f > 1:
				res[i] = 0x3f800000
			}
		case 'h':
			f := f16of(r)
			switch {
			case !(f > 0):
				res[i] = 0
			case f > 1:
				res[i] = 0x3c00
			}
		case 'd':
			f := f64of(r)
			switch {
			case !(f > 0):
				res[i] = 0
			case f > 1:
				res[i] = 0x3ff0000000000000
			}
		case 'P':
			lo, hi := values{r & 0xffff}, values{r >> 16 & 0xffff}
			clampFloat('h', &lo)
			clampFloat('h', &hi)
			res[i] = lo[0] | hi[0]<<16
		}
	}
}

func (o *vectorOp) sources() string {
	_, _, s := o.types()
	return s
}

// types are those of a signature.
func (o *vectorOp) types() (result byte, carry bool, sources string) {
	head, tail, _ := strings.Cut(o.sig, ":")
	return head[0], len(head) > 1, tail
}

// prepareVector prepares an instruction of the vector ALU.
func prepareVector(set *isa.Set, st *step) bool {
	in := st.in
	st.class = classVALU
	if in.Dual != nil {
		st.dual = &step{in: in, pc: st.pc, next: st.next}
		if !prepareHalf(set, st, in.Op, in.D, in.Src[:]) || !prepareHalf(set, st.dual, in.Dual, in.DualD, append(in.DualSrc[:], 0)) {
			return false
		}
		if plainForm(st, st.dst.typ, st.sem.sources()) && plainForm(st.dual, st.dual.dst.typ, st.dual.sem.sources()) {
			st.run = runPlainDual
		} else {
			st.run = runDual
		}
		return true
	}
	return prepareHalf(set, st, in.Op, in.D, in.Src[:])
}

// find is what an opcode does.
func find(set *isa.Set, op *isa.Op) *vectorOp {
	name := strings.Replace(op.Base, "v_dual_", "v_", 1)
	if f := special(set, op, name); f != nil {
		return f
	}
	if f, ok := vectorOps[name]; ok {
		return f
	}
	if f, ok := compareOps[name]; ok {
		return f
	}
	return nil
}

func prepareHalf(set *isa.Set, st *step, op *isa.Op, d uint16, src []uint16) bool {
	in := st.in
	sem := find(set, op)
	if sem == nil {
		return false
	}
	st.sem, st.fn = sem, sem.fn
	switch {
	case sem.trans:
		st.class = classTrans
	case strings.HasPrefix(op.Base, "v_wmma"):
		st.class = classWMMA
	}
	result, carry, types := sem.types()
	if in.Clamp && sem.sat != nil {
		st.fn = sem.sat
	}
	st.dst = dest{typ: result, reg: d, sel: isa.SelectAll, clamp: in.Clamp && strings.IndexByte("fhdP", result) >= 0}
	halves := halfRegisters(set, op)
	sdwa := op.Encoding >= isa.SDWA1 && op.Encoding <= isa.SDWAC
	if sdwa && op.Encoding != isa.SDWAC {
		st.dst.sel, st.dst.unused = in.DstSel, in.DstUnused
	}
	packed := op.Encoding == isa.VOP3P || op.Encoding == isa.DPP3P
	long := op.Encoding == isa.VOP3 || op.Encoding == isa.DPP3
	// Sources in the order of the text, without what the destination holds.
	var order []isa.Operand
	for _, o := range op.Operands {
		switch {
		case o.Field >= '0' && o.Field <= '2':
			order = append(order, o)
		case o.Field == 0 && o.Text == isa.LiteralText:
			order = append(order, o)
		case o.Field == 'd' && half(result) && halves && d >= isa.VGPR+128:
			st.dst.reg, st.dst.high = d-128, true
		case o.Field == 'd' && o.Scalar && result != 'm':
			st.dst.typ = 's'
		case o.Field == 'e':
			st.dst.mask = in.E
		}
	}
	if carry {
		st.dst.hasMask = true
		if !long {
			st.dst.mask = isa.VCC
		}
	}
	if result == 'm' {
		switch {
		case strings.HasPrefix(op.Base, "v_cmpx"):
			st.dst.reg = isa.Exec
		case op.Encoding == isa.VOPC || op.Encoding == isa.DPPC:
			st.dst.reg = isa.VCC
		}
	}
	next := 0
	for i := range types {
		s := &st.src[i]
		s.typ, s.sel = types[i], isa.SelectAll
		switch types[i] {
		case 'D':
			s.kind, s.reg, s.typ = fromVector, st.dst.reg, result
			continue
		case 'V':
			s.kind, s.reg, s.typ = fromMask, isa.VCC, 'm'
			continue
		}
		if next >= len(order) {
			if types[i] != 'm' {
				return false
			}
			s.kind, s.reg = fromMask, isa.VCC // the short forms take VCC
			continue
		}
		o := order[next]
		next++
		if o.Field == 0 {
			s.kind, s.value = fromConstant, uint64(in.Literal)
			continue
		}
		n := int(o.Field - '0')
		r := src[n]
		s.reg = r
		bit := uint8(1) << n
		switch {
		case types[i] == 'm':
			s.kind = fromMask
			continue
		case r >= isa.VGPR:
			s.kind = fromVector
			if half(s.typ) && halves && r >= isa.VGPR+128 {
				s.reg, s.high = r-128, true
			}
		default:
			if v, ok := constant(r, s.typ, in.Literal); ok {
				s.kind, s.value = fromConstant, v
			} else {
				s.kind = fromScalar
			}
		}
		if packed {
			continue // their modifiers are their own
		}
		if strings.IndexByte("fhdB", s.typ) >= 0 && in.Dual == nil {
			s.neg, s.abs = in.Neg&bit != 0, in.Abs&bit != 0
		}
		if long && in.OpSel&bit != 0 && half(s.typ) && s.kind != fromConstant {
			s.high = true
		}
		if sdwa && n < 2 {
			s.sel, s.sext = in.Sel[n], in.SextOff&bit != 0
		}
		if n == 0 && in.Permute != isa.NoPermute {
			s.permuted = true
		}
	}
	if long && in.OpSel&8 != 0 && half(result) {
		st.dst.high = true
	}
	if op.Base == "v_fma_mixhi_f16" {
		st.dst.high = true
	}
	// The previous contents are of the half that is written.
	for i := range types {
		if types[i] == 'D' && half(result) {
			st.src[i].high = st.dst.high
		}
	}
	if halves {
		use := func(r uint16, typ byte) {
			if r >= isa.VGPR {
				st.maxV = max(st.maxV, int(r-isa.VGPR)+int(b2u(wide(typ))))
			}
		}
		use(st.dst.reg, result)
		for _, s := range st.src {
			if s.kind == fromVector {
				use(s.reg, s.typ)
			}
		}
	}
	switch {
	case sem.custom != nil:
		st.run = sem.custom
	case !plainForm(st, result, types):
		st.run = runVector
	case result == 'm':
		st.run = runPlainCompare
	default:
		st.run = runPlain
	}
	return true
}

// plainForm tells whether an instruction works on whole registers of 32 bits,
// without moving lanes and without a clamp.
func plainForm(st *step, result byte, types string) bool {
	if st.in.Permute != isa.NoPermute || st.dst.sel != isa.SelectAll || st.in.Clamp || st.dst.hasMask {
		return false
	}
	if result != 'f' && result != 'u' && result != 'm' || st.dst.typ == 's' {
		return false
	}
	for i := range types {
		s := &st.src[i]
		if s.typ != 'f' && s.typ != 'u' || s.sel != isa.SelectAll || s.kind == fromMask || s.high {
			return false
		}
	}
	return true
}

// compute evaluates an instruction into res and returns the lanes to write.
func (w *wave) compute(st *step, res *values) uint32 {
	mask := w.s[regExec]
	if st.in.Permute != isa.NoPermute {
		mask &= w.permuteMask(st.in)
	}
	for i := range st.src {
		if st.src[i].kind == noSource {
			break
		}
		w.fetch(&st.src[i], &w.buf[i])
	}
	fn := st.fn
	a, b, c := &w.buf[0], &w.buf[1], &w.buf[2]
	if mask == allOn {
		for i := range res {
			res[i] = fn(a[i], b[i], c[i])
		}
		return mask
	}
	for m := mask; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m)
		res[i] = fn(a[i], b[i], c[i])
	}
	for m := ^mask; m != 0; m &= m - 1 {
		res[bits.TrailingZeros32(m)] = 0
	}
	return mask
}

func runVector(w *wave, st *step) {
	mask := w.compute(st, &w.res[0])
	w.store(&st.dst, &w.res[0], mask)
}

// runDual reads all sources before it writes.
func runDual(w *wave, st *step) {
	mask := w.compute(st, &w.res[0])
	w.compute(st.dual, &w.res[1])
	w.store(&st.dst, &w.res[0], mask)
	w.store(&st.dual.dst, &w.res[1], mask)
}

// runPlainDual is runDual for two plain instructions.
func runPlainDual(w *wave, st *step) {
	w.computePlain(st, &w.plain[3])
	w.computePlain(st.dual, &w.plain[4])
	w.storePlain(st.dst.reg, &w.plain[3])
	w.storePlain(st.dual.dst.reg, &w.plain[4])
}

// runPlain is runVector for plain instructions.
func runPlain(w *wave, st *step) {
	d := &w.v[st.dst.reg-isa.VGPR]
	if w.s[regExec] == allOn {
		w.computePlain(st, d)
		return
	}
	w.computePlain(st, &w.plain[3])
	w.storePlain(st.dst.reg, &w.plain[3])
}

// runPlainCompare is runVector for plain comparisons.
func runPlainCompare(w *wave, st *step) {
	a, b := w.operand(st, 0), w.operand(st, 1)
	fn, mask := st.fn, uint32(0)
	for m := w.s[regExec]; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		mask |= uint32(fn(uint64(a[i]), uint64(b[i]), 0)&1) << i
	}
	w.setScalar(st.dst.reg, mask)
}

func (w *wave) storePlain(reg uint16, res *[lanes]uint32) {
	d := &w.v[reg-isa.VGPR]
	exec := w.s[regExec]
	if exec == allOn {
		*d = *res
		return
	}
	for m := exec; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		d[i] = res[i]
	}
}

// operand is a source of a plain instruction in all lanes.
func (w *wave) operand(st *step, n int) *[lanes]uint32 {
	s := &st.src[n]
	p := &w.plain[n]
	switch s.kind {
	case fromVector:
		r := &w.v[s.reg-isa.VGPR]
		if !s.neg && !s.abs {
			return r
		}
		*p = *r
	case fromScalar, fromConstant:
		x := uint32(s.value)
		if s.kind == fromScalar {
			x = w.scalar(s.reg)
		}
		for i := range p {
			p[i] = x
		}
	}
	if s.abs {
		for i := range p {
			p[i] &^= sign32
		}
	}
	if s.neg {
		for i := range p {
			p[i] ^= sign32
		}
	}
	return p
}

// computePlain evaluates a plain instruction in all lanes.
func (w *wave) computePlain(st *step, d *[lanes]uint32) {
	a, b, c := w.operand(st, 0), w.operand(st, 1), w.operand(st, 2)
	if st.sem.fast != nil {
		st.sem.fast(d, a, b, c)
		return
	}
	fn := st.fn
	for i := range d {
		d[i] = uint32(fn(uint64(a[i]), uint64(b[i]), uint64(c[i])))
	}
}

// permute moves the lanes of a register as DPP asks for. Lanes that have no
// source read zero; permuteMask says whether they are written at all.
func (w *wave) permute(r *[lanes]uint32, buf *values) {
	in, exec := w.step.in, w.s[regExec]
	for i := range buf {
		from := dppSource(in, i)
		if from >= 0 && (in.FetchOff || exec>>from&1 != 0) {
			buf[i] = uint64(r[from])
		} else {
			buf[i] = 0
		}
	}
}

// permuteMask are the lanes that an instruction with DPP writes, as far as
// that depends on DPP.
func (w *wave) permuteMask(in *isa.Inst) uint32 {
	if in.Permute == isa.DPP8 {
		return allOn
	}
	mask, exec := uint32(0), w.s[regExec]
	for i := range lanes {
		if in.RowMask>>(i/16)&1 == 0 || in.BankMask>>(i/4%4)&1 == 0 {
			continue
		}
		from := dppSource(in, i)
		if in.BoundCtrl || from >= 0 && (in.FetchOff || exec>>from&1 != 0) {
			mask |= 1 << i
		}
	}
	return mask
}

// dppSource is the lane from which lane i reads, or -1.
func dppSource(in *isa.Inst, i int) int {
	c := in.Ctrl
	if in.Permute == isa.DPP8 {
		return i&^7 | int(c>>(3*(i&7))&7)
	}
	row, at, n := i&^15, i&15, int(c&15)
	switch {
	case c < 0x100:
		return i&^3 | int(c>>(2*(i&3))&3)
	case c < 0x110: // row_shl
		at += n
	case c < 0x120: // row_shr
		at -= n
	case c < 0x130: // row_ror
		at = (at - n) & 15
	case c == 0x140: // row_mirror
		at = 15 - at
	case c == 0x141: // row_half_mirror
		at = at&8 | 7 - at&7
	case c >= 0x150 && c < 0x160: // row_share
		at = n
	case c >= 0x160 && c < 0x170: // row_xmask
		at ^= n
	default:
		return -1
	}
	if at < 0 || at > 15 {
		return -1
	}
	return row | at
}
