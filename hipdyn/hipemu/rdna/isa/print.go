package isa

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// String is the instruction as LLVM prints it.
func (in *Inst) String() string {
	p := &printer{in: in}
	p.instruction(in.Op, in.D, in.Src[0], in.Src[1])
	if in.Dual != nil {
		p.b.WriteString(" :: ")
		p.instruction(in.Dual, in.DualD, in.DualSrc[0], in.DualSrc[1])
	}
	return p.b.String()
}

type printer struct {
	in *Inst
	b  strings.Builder
}

func (p *printer) instruction(op *Op, d, src0, src1 uint16) {
	in := p.in
	p.b.WriteString(op.Name)
	if op.Encoding == SMEM {
		p.scalarMemory()
		return
	}
	n := 0
	comma := func() {
		if n++; n > 1 {
			p.b.WriteString(",")
		}
		p.b.WriteString(" ")
	}
	if op.Has('r') && op.Encoding != DS && in.Returns() {
		comma()
		p.b.WriteString(in.Set.Register(d, op.number('r')))
	}
	for i, o := range op.Operands {
		if o.Field == 0 {
			p.fixed(op, i, o, comma)
			continue
		}
		if o.Field == 'd' && op.Encoding == MUBUF && in.LDS { // goes to LDS
			continue
		}
		comma()
		switch o.Field {
		case 'd':
			width := int(o.Width)
			if in.TFE { // one more for the state of the access
				width++
			}
			p.b.WriteString(in.Set.register(d, width, o.Kind))
		case 'e':
			p.b.WriteString(in.Set.Register(in.E, int(o.Width)))
		case '0':
			p.source(op, o, 0, src0)
		case '1':
			p.source(op, o, 1, src1)
		case '2':
			p.source(op, o, 2, in.Src[2])
		}
	}
	switch op.Encoding {
	case FLAT, GLOBAL, SCRATCH, MUBUF:
		p.memory(op)
	case DS:
		if op.Has('2') {
			p.nonZero(" offset0:%d", int(in.Offset))
			p.nonZero(" offset1:%d", int(in.Offset1))
		} else if op.Base == "ds_swizzle_b32" {
			p.swizzle(uint16(in.Offset))
		} else {
			p.nonZero(" offset:%d", int(in.Offset))
		}
		if in.GDS {
			p.b.WriteString(" gds")
		}
	case SOP1, SOP2, SOPC, SOPK, SOPP, VOPDX, VOPDY:
	default:
		p.vectorModifiers(op)
	}
}

func (p *printer) nonZero(format string, v int) {
	if v != 0 {
		fmt.Fprintf(&p.b, format, v)
	}
}

// fixed prints an operand that is no register.
func (p *printer) fixed(op *Op, i int, o Operand, comma func()) {
	in := p.in
	text := o.Text
	switch {
	case text == LiteralText:
		text = fmt.Sprintf("0x%x", in.Literal)
		if op.Encoding == SOPK {
			text = p.literal(Operand{Width: 1})
		}
	case op.Encoding == SOPP || op.Encoding == SOPK:
		text = p.immediate(op, text)
	case op.Encoding == SOP1 && strings.HasPrefix(text, "sendmsg"):
		text = fmt.Sprintf("sendmsg(%s)", messageReturn(in.Src[0]))
	case text == "off":
		switch {
		case op.Encoding == SCRATCH && i < len(op.Operands)-1 && op.Operands[i].Field == 0 && !p.seenOff(op, i):
			// The vector address of scratch comes first.
			if in.VectorAddr {
				text = in.Set.Register(in.Src[0], 1)
			}
		default:
			if in.ScalarAddr != in.Set.Null() {
				width := 2
				if op.Encoding == SCRATCH {
					width = 1
				}
				text = in.Set.Register(in.ScalarAddr, width)
			}
		}
	case op.isCompare() && op.Encoding != VOP3 && op.Encoding != DPP3 && i == 0:
		text = in.Set.Register(in.D, 1)
	}
	if text == "" || text == "gds" { // that stands behind the offset
		return
	}
	comma()
	p.b.WriteString(text)
}

// seenOff tells whether an operand before i is a fixed "off", too.
func (p *printer) seenOff(op *Op, i int) bool {
	for _, o := range op.Operands[:i] {
		if o.Text == "off" {
			return true
		}
	}
	return false
}

func (p *printer) scalarMemory() {
	in := p.in
	for i, o := range in.Op.Operands {
		sep := ", "
		if i == 0 {
			sep = " "
		}
		switch {
		case o.Field == 'd':
			p.b.WriteString(sep + in.Set.Register(in.D, int(o.Width)))
		case o.Field == '0':
			p.b.WriteString(sep + in.Set.Register(in.Src[0], int(o.Width)))
		case o.Text == "16" || strings.Contains(in.Op.Base, "prefetch") && i == len(in.Op.Operands)-1:
			p.b.WriteString(sep + number(in.D))
		case strings.Contains(in.Op.Base, "prefetch"):
			if o.Text == "null" {
				p.b.WriteString(sep + in.Set.Register(in.ScalarAddr, 1))
			} else {
				p.b.WriteString(sep + hex(in.Offset))
			}
		case in.ScalarAddr == in.Set.Null() && (in.Offset != 0 || in.Set.Generation == 12):
			p.b.WriteString(sep + hex(in.Offset))
		case in.Offset == 0:
			p.b.WriteString(sep + in.Set.Register(in.ScalarAddr, 1))
		default:
			p.b.WriteString(sep + in.Set.Register(in.ScalarAddr, 1) + " offset:" + hex(in.Offset))
		}
	}
	if strings.Contains(in.Op.Base, "_load_") {
		p.cache(in.Op)
	}
}

// number prints as many constants are: decimal where they would be inline.
func number(v uint16) string {
	if v <= 64 {
		return strconv.Itoa(int(v))
	}
	return fmt.Sprintf("0x%x", v)
}

func hex(v int32) string {
	if v < 0 {
		return fmt.Sprintf("-0x%x", -int64(v))
	}
	return fmt.Sprintf("0x%x", v)
}

// Register is the name of a register or of a run of them.
func (s *Set) Register(r uint16, width int) string { return s.register(r, width, 0) }

func (s *Set) register(r uint16, width int, kind byte) string {
	run := func(prefix string, n int) string {
		if width <= 1 {
			return prefix + strconv.Itoa(n)
		}
		return fmt.Sprintf("%s[%d:%d]", prefix, n, n+width-1)
	}
	if r < TTMP+16 || r == Exec { // runs of scalar registers are aligned
		switch {
		case width == 2:
			r &^= 1
		case width > 2:
			r &^= 3
		}
	}
	pair := func(name string, high bool) string {
		switch {
		case width > 1 && !high:
			return name
		case high:
			return name + "_hi"
		}
		return name + "_lo"
	}
	switch {
	case r >= VGPR && kind == 't':
		return "v" + strconv.Itoa(int(r-VGPR)&127) + []string{".l", ".h"}[(r-VGPR)>>7]
	case r >= VGPR:
		return run("v", int(r-VGPR))
	case r < VCC:
		return run("s", int(r))
	case r < TTMP:
		return pair("vcc", r&1 != 0)
	case r < TTMP+16:
		return run("ttmp", int(r-TTMP))
	case r == s.Null():
		return "null"
	case r == s.M0():
		return "m0"
	case r < inlineInt:
		return pair("exec", r&1 != 0)
	}
	switch r {
	case 235:
		return "src_shared_base"
	case 236:
		return "src_shared_limit"
	case 237:
		return "src_private_base"
	case 238:
		return "src_private_limit"
	case 239:
		return "src_pops_exiting_wave_id"
	case 251:
		return "src_vccz"
	case 252:
		return "src_execz"
	case SCC:
		return "src_scc"
	case 254:
		return "src_lds_direct"
	}
	return fmt.Sprintf("src_%d", r)
}

var inlineTexts = [...]string{"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494"}

// inlineF32, inlineF64, inlineF16 and inlineBF16 are the values of the same.
var inlineF32 = [...]uint32{0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000, 0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983}
var inlineF64 = [...]uint64{0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x4000000000000000, 0xc000000000000000, 0x4010000000000000, 0xc010000000000000}
var inlineF16 = [...]uint16{0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118}
var inlineBF16 = [...]uint16{0x3f00, 0xbf00, 0x3f80, 0xbf80, 0x4000, 0xc000, 0x4080, 0xc080, 0x3e22}

// source prints a source without modifiers.
func (p *printer) plain(o Operand, r uint16) string {
	switch {
	case r >= VGPR || r < inlineInt:
		return p.in.Set.register(r, int(o.Width), o.Kind)
	case r <= inlineInt+64:
		return strconv.Itoa(int(r - inlineInt))
	case r <= inlineInt+80:
		return strconv.Itoa(-int(r - inlineInt - 64))
	case r >= inlineF && r < inlineF+9:
		switch {
		case o.Kind == 'i' || o.Kind == 't' || p.in.Op.Encoding >= SDWA1 && p.in.Op.Encoding <= SDWAC && (strings.Contains(p.in.Op.Base, "_i16") || strings.Contains(p.in.Op.Base, "_u16")):
			return fmt.Sprintf("0x%x", inlineF16[r-inlineF])
		case o.Kind == 'b':
			return fmt.Sprintf("0x%x", inlineBF16[r-inlineF])
		case r == inlineF+8 && (o.Width == 2 && p.in.Op.Encoding != VOP3P || o.Width == 8):
			return "0.15915494309189532"
		}
		return inlineTexts[r-inlineF]
	case r == Literal:
		return p.literal(o)
	}
	return p.in.Set.Register(r, int(o.Width))
}

// literal prints a literal; one that could have been an inline constant looks
// like that.
func (p *printer) literal(o Operand) string {
	v := p.in.Literal
	short := int64(int32(v))
	float64s := o.Width == 2 && strings.Contains(p.in.Op.Base, "f64")
	switch {
	case float64s: // the upper half of a number
		short = int64(v) << 32
	case o.Width == 2: // zero above
		short = int64(v)
	}
	if o.Kind != 0 {
		v &= 0xffff
		short = int64(int16(v))
	}
	if short >= -16 && short <= 64 && !(o.Kind == 'i' && p.in.Literal != 0 && slices.Contains(inlineF32[:], p.in.Literal)) {
		return strconv.FormatInt(short, 10)
	}
	halves := o.Kind == 'h' || p.in.Op.Encoding == VOP3P && strings.Contains(p.in.Op.Base, "f16")
	for i, text := range inlineTexts {
		switch {
		case float64s:
			// 1/2π needs more than the upper half.
			if i < 8 && v == uint32(inlineF64[i]>>32) {
				return text
			}
		case halves && v == uint32(inlineF16[i]), o.Kind == 0 && o.Width < 2 && v == inlineF32[i], o.Kind == 'i' && p.in.Literal == inlineF32[i]:
			return text
		}
	}
	return fmt.Sprintf("0x%x", v)
}

func (p *printer) source(op *Op, o Operand, i int, r uint16) {
	in := p.in
	switch op.Encoding {
	case MUBUF:
		p.bufferSource(o, i, r)
		return
	case SCRATCH:
		if i == 0 && !in.VectorAddr {
			p.b.WriteString("off")
			return
		}
	case FLAT, GLOBAL:
		if i == 0 && op.Encoding == GLOBAL && in.ScalarAddr != in.Set.Null() {
			o.Width = 1
		}
		p.b.WriteString(in.Set.Register(r, int(o.Width)))
		return
	}
	s := p.plain(o, r)
	bit := uint8(1) << i
	neg, abs, sext := in.Neg&bit != 0, in.Abs&bit != 0, in.SextOff&bit != 0
	if op.Encoding == VOP3P || op.Encoding == DPP3P {
		abs = in.NegHi&bit != 0
	}
	if in.Dual != nil {
		neg, abs = false, false
	}
	isSDWA := op.Encoding >= SDWA1 && op.Encoding <= SDWAC
	switch o.Mods {
	case 0:
		if isSDWA && sext {
			s = "sext(" + s + ")"
		}
	case 's':
		if isSDWA && sext || !isSDWA && neg {
			s = "sext(" + s + ")"
		}
	default:
		if abs && o.Mods != 'g' {
			s = "|" + s + "|"
		}
		if neg && o.Mods != 'a' {
			if !abs && (r >= inlineInt && r < VGPR) && r != 251 && r != 252 && r != 253 && !(r >= 235 && r <= 239) && r != 254 {
				s = "neg(" + s + ")"
			} else {
				s = "-" + s
			}
		}
	}
	p.b.WriteString(s)
}

func (p *printer) bufferSource(o Operand, i int, r uint16) {
	in := p.in
	switch {
	case i == 0 && in.IdxEn && in.OffEn:
		p.b.WriteString(in.Set.Register(r, 2))
	case i == 0 && !in.IdxEn && !in.OffEn:
		p.b.WriteString("off")
	case i == 2:
		p.b.WriteString(p.plain(Operand{Width: 1}, r))
	default:
		p.b.WriteString(in.Set.Register(r, int(o.Width)))
	}
}

func (p *printer) memory(op *Op) {
	in := p.in
	if op.Encoding == MUBUF {
		if in.IdxEn {
			p.b.WriteString(" idxen")
		}
		if in.OffEn {
			p.b.WriteString(" offen")
		}
	}
	if len(op.Operands) > 0 {
		p.nonZero(" offset:%d", int(in.Offset))
	} else if op.Encoding == MUBUF {
		return
	}
	p.cache(op)
	if in.LDS {
		p.b.WriteString(" lds")
	}
	if in.TFE {
		p.b.WriteString(" tfe")
	}
}

var (
	thLoad  = []string{"", "TH_LOAD_NT", "TH_LOAD_HT", "TH_LOAD_LU", "TH_LOAD_NT_RT", "TH_LOAD_RT_NT", "TH_LOAD_NT_HT", "0x7"}
	thStore = []string{"", "TH_STORE_NT", "TH_STORE_HT", "TH_STORE_RT_WB", "TH_STORE_NT_RT", "TH_STORE_RT_NT", "TH_STORE_NT_HT", "TH_STORE_NT_WB"}
	scopes  = []string{"", "SCOPE_SE", "SCOPE_DEV", "SCOPE_SYS"}
)

func (p *printer) cache(op *Op) {
	in := p.in
	if in.Set.Generation < 12 {
		for i, n := range []string{" glc", " slc", " dlc"} {
			if in.Cache>>i&1 != 0 {
				p.b.WriteString(n)
			}
		}
		return
	}
	scope, th := in.Cache&3, in.Cache>>2&7
	texts := thLoad
	atomic, store := op.Has('r'), strings.Contains(op.Base, "_store")
	if op.Encoding == MUBUF && strings.Contains(op.Base, "atomic") {
		atomic = true
	}
	switch {
	case atomic:
		texts = []string{"", "TH_ATOMIC_RETURN", "TH_ATOMIC_NT", "TH_ATOMIC_NT_RETURN"}
		for i := range 4 {
			t := fmt.Sprintf("TH_ATOMIC_0x%x", i+4)
			if scope >= 2 {
				t = "TH_ATOMIC_CASCADE" + []string{"_RT", "_NT"}[i>>1]
			}
			texts = append(texts, t)
		}
	case store:
		texts = thStore
	}
	t := texts[th]
	if th == 3 && scope == 3 && !atomic {
		t = strings.TrimSuffix(strings.TrimSuffix(t, "RT_WB"), "LU") + "BYPASS"
	}
	if t != "" {
		p.b.WriteString(" th:" + t)
	}
	if s := scopes[scope]; s != "" {
		p.b.WriteString(" scope:" + s)
	}
}

// swizzle prints the pattern of ds_swizzle_b32.
func (p *printer) swizzle(v uint16) {
	if v == 0 {
		return
	}
	p.b.WriteString(" offset:")
	and, or, xor := v&31, v>>5&31, v>>10&31
	group := 32 - and
	switch {
	case v>>8 == 0x80:
		fmt.Fprintf(&p.b, "swizzle(QUAD_PERM,%d,%d,%d,%d)", v&3, v>>2&3, v>>4&3, v>>6&3)
	case v>>15 != 0:
		fmt.Fprintf(&p.b, "%d", v)
	case and == 31 && or == 0 && xor != 0 && xor&(xor-1) == 0:
		fmt.Fprintf(&p.b, "swizzle(SWAP,%d)", xor)
	case and == 31 && or == 0 && xor != 0 && xor&(xor+1) == 0:
		fmt.Fprintf(&p.b, "swizzle(REVERSE,%d)", xor+1)
	case group > 1 && group&(group-1) == 0 && or < group && xor == 0:
		fmt.Fprintf(&p.b, "swizzle(BROADCAST,%d,%d)", group, or)
	default:
		text := ""
		zero, one := or^xor, (and|or)^xor // what bits 0 and 1 become
		for i := 4; i >= 0; i-- {
			text += string("0pi1"[zero>>i&1<<1|one>>i&1])
		}
		fmt.Fprintf(&p.b, "swizzle(BITMASK_PERM,%q)", text)
	}
}

// bits prints "[1,0,1]".
func bits(v uint8, n int) string {
	s := "["
	for i := range n {
		if i > 0 {
			s += ","
		}
		s += strconv.Itoa(int(v >> i & 1))
	}
	return s + "]"
}

func (p *printer) vectorModifiers(op *Op) {
	in := p.in
	sources := 0
	for _, o := range op.Operands {
		if o.Field >= '0' && o.Field <= '2' {
			sources++
		}
	}
	all := uint8(1<<sources - 1)
	packed := op.Encoding == VOP3P || op.Encoding == DPP3P
	if n := op.number('p'); n > 0 {
		sel := in.OpSel
		if !packed && n == sources+1 {
			// The destination's bit is the last one.
			sel = in.OpSel&all | in.OpSel>>3&1<<sources
		}
		if strings.HasPrefix(op.Base, "v_dot2_f16") || strings.HasPrefix(op.Base, "v_dot2_bf16") {
			sel &= 12 // their sources are packed
		}
		if sel&(1<<n-1) != 0 {
			p.b.WriteString(" op_sel:" + bits(sel, n))
		}
		if packed {
			if in.OpSelHi&all != all && op.number('p') > 0 && !strings.HasPrefix(op.Base, "v_fma_mix") || strings.HasPrefix(op.Base, "v_fma_mix") && in.OpSelHi&all != 0 {
				p.b.WriteString(" op_sel_hi:" + bits(in.OpSelHi, n))
			}
		}
	}
	switch op.Base {
	case "v_cvt_f32_fp8", "v_cvt_f32_bf8":
		p.nonZero(" byte_sel:%d", int(in.OpSel>>1&1|in.OpSel&1<<1))
	case "v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32":
		p.nonZero(" byte_sel:%d", int(in.OpSel>>2))
	}
	if op.Has('k') && in.OpSel&3 != 0 {
		fmt.Fprintf(&p.b, " index_key:%d", in.OpSel&3)
	}
	if packed {
		if op.Has('l') && in.Neg&all != 0 {
			p.b.WriteString(" neg_lo:" + bits(in.Neg, p.negCount(op, sources)))
		}
		if op.Has('h') && in.NegHi&all != 0 {
			p.b.WriteString(" neg_hi:" + bits(in.NegHi, p.negCount(op, sources)))
		}
	}
	if in.Clamp {
		p.b.WriteString(" clamp")
	}
	p.b.WriteString([]string{"", " mul:2", " mul:4", " div:2"}[in.Omod])
	switch op.Encoding {
	case SDWA1, SDWA2, SDWAC:
		p.sdwa(op, sources)
	}
	p.permute()
}

// negCount is how many sources of a packed instruction can be negated.
func (p *printer) negCount(op *Op, sources int) int {
	switch {
	case strings.HasPrefix(op.Base, "v_swmmac_i32"):
		return 2
	}
	return sources
}

var sdwaSelections = []string{"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", "?"}

func (p *printer) sdwa(op *Op, sources int) {
	in := p.in
	if op.Encoding != SDWAC {
		p.b.WriteString(" dst_sel:" + sdwaSelections[in.DstSel])
		p.b.WriteString(" dst_unused:" + []string{"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "?"}[in.DstUnused])
	}
	for i := range min(sources, 2) {
		fmt.Fprintf(&p.b, " src%d_sel:%s", i, sdwaSelections[in.Sel[i]])
	}
}

func (p *printer) permute() {
	in := p.in
	switch in.Permute {
	case DPP8:
		p.b.WriteString(" dpp8:[")
		for i := range 8 {
			if i > 0 {
				p.b.WriteString(",")
			}
			p.b.WriteString(strconv.Itoa(int(in.Ctrl >> (3 * i) & 7)))
		}
		p.b.WriteString("]")
	case DPP16:
		c := in.Ctrl
		switch {
		case c <= 0xff:
			fmt.Fprintf(&p.b, " quad_perm:[%d,%d,%d,%d]", c&3, c>>2&3, c>>4&3, c>>6)
		case c >= 0x101 && c <= 0x10f:
			fmt.Fprintf(&p.b, " row_shl:%d", c&15)
		case c >= 0x111 && c <= 0x11f:
			fmt.Fprintf(&p.b, " row_shr:%d", c&15)
		case c >= 0x121 && c <= 0x12f:
			fmt.Fprintf(&p.b, " row_ror:%d", c&15)
		case c == 0x140:
			p.b.WriteString(" row_mirror")
		case c == 0x141:
			p.b.WriteString(" row_half_mirror")
		case c >= 0x150 && c <= 0x15f:
			fmt.Fprintf(&p.b, " row_share:%d", c&15)
		case c >= 0x160 && c <= 0x16f:
			fmt.Fprintf(&p.b, " row_xmask:%d", c&15)
		}
		fmt.Fprintf(&p.b, " row_mask:0x%x bank_mask:0x%x", in.RowMask, in.BankMask)
		if in.BoundCtrl {
			p.b.WriteString(" bound_ctrl:1")
		}
	}
	if in.FetchOff {
		p.b.WriteString(" fi:1")
	}
}
