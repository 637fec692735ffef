package rdna

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"gorun/hipdyn/hipemu/rdna/hsaco"
	"gorun/hipdyn/hipemu/rdna/isa"
)

// rig executes single instructions on a wave whose registers a test sets.
type rig struct {
	t   testing.TB
	set *isa.Set
	w   *wave
	mem *Memory
}

const rigVGPRs = 200

func newRig(t testing.TB, target string) *rig {
	t.Helper()
	set, err := isa.For(target)
	if err != nil {
		t.Fatal(err)
	}
	mem := NewMemory(1 << 20)
	k := &Kernel{Kernel: &hsaco.Kernel{Name: "rig", VGPRs: rigVGPRs, SGPRs: 106, Scratch: 64, Descriptor: hsaco.Descriptor{Rsrc1: 0xf0 << 12}}}
	l := &launch{kernel: k, mem: mem, set: set, null: set.Null(), poison: registerPoison, waves: 1, items: lanes, lds: 1024, cfg: LaunchConfig{Block: [3]uint32{32, 1, 1}}}
	g := newGroup(l)
	g.live = 1
	g.lds.reset()
	g.waves[0].begin()
	return &rig{t, set, g.waves[0], mem}
}

// code looks up the opcode of a name. Names of gfx10 stand for those of the
// others, and the other way round.
func (r *rig) op(e isa.Encoding, name string) *isa.Op {
	for _, o := range r.set.Ops() {
		if o.Encoding == e && o.Base == name {
			return o
		}
	}
	return nil
}

// try executes the instruction of some words, whose registers exist.
func (r *rig) try(words ...uint32) error {
	r.t.Helper()
	err := r.tryAny(words...)
	if err != nil && strings.HasPrefix(err.Error(), "uses v") {
		r.t.Fatal(err)
	}
	return err
}

// tryAny executes the instruction of some words.
func (r *rig) tryAny(words ...uint32) (err error) {
	var code []byte
	for _, w := range words {
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	p := &program{set: r.set, image: code, end: uint64(len(code))}
	in, err := r.set.Decode(code)
	if err != nil {
		return err
	}
	if in.Size != len(code) {
		r.t.Fatalf("%v takes %d bytes, not %d", in, in.Size, len(code))
	}
	st := &step{in: in, next: uint64(in.Size)}
	if err := prepare(r.set, st); err != nil {
		return err
	}
	r.w.group.launch.program = p
	r.w.step, r.w.pc = st, st.next
	defer func() {
		switch p := recover().(type) {
		case nil:
		case stop:
			err = p.err
		default:
			panic(p)
		}
	}()
	if st.maxV >= len(r.w.v) {
		return fmt.Errorf("uses v%d of %d: %v", st.maxV, len(r.w.v), in)
	}
	st.run(r.w, st)
	return nil
}

func (r *rig) run(words ...uint32) {
	r.t.Helper()
	if err := r.try(words...); err != nil {
		r.t.Fatalf("%s: %08x: %v", r.set.Target, words, err)
	}
}

// Encoders. Sources are numbers of 9 bits: v(n), or those of scalar registers
// and constants.

func v(n uint32) uint32 { return isa.VGPR + n }

func vop1(o *isa.Op, d, s uint32) uint32      { return 0x7e000000 | d<<17 | uint32(o.Code)<<9 | s }
func vop2(o *isa.Op, d, s0, s1 uint32) uint32 { return uint32(o.Code)<<25 | d<<17 | s1<<9 | s0 }
func vopc(o *isa.Op, s0, s1 uint32) uint32    { return 0x7c000000 | uint32(o.Code)<<17 | s1<<9 | s0 }

// mods are modifiers of the long encodings.
type mods struct {
	neg, abs, opsel, opselHi, negHi uint32
	clamp                           bool
	sdst                            uint32
}

func vop3(o *isa.Op, d, a, b, c uint32, m mods) []uint32 {
	w := 0xd4000000 | uint32(o.Code)<<16 | d | m.abs<<8 | m.opsel<<11 | m.sdst<<8
	if m.clamp {
		w |= 1 << 15
	}
	return []uint32{w, a | b<<9 | c<<18 | m.neg<<29}
}

func vop3p(o *isa.Op, d, a, b, c uint32, m mods) []uint32 {
	w := 0xcc000000 | uint32(o.Code)<<16 | d | m.negHi<<8 | m.opsel<<11 | m.opselHi>>2<<14
	if m.clamp {
		w |= 1 << 15
	}
	return []uint32{w, a | b<<9 | c<<18 | m.opselHi&3<<27 | m.neg<<29}
}

func sop1(o *isa.Op, d, s uint32) uint32 { return 0xbe800000 | d<<16 | uint32(o.Code)<<8 | s }
func sop2(o *isa.Op, d, s0, s1 uint32) uint32 {
	return 0x80000000 | uint32(o.Code)<<23 | d<<16 | s1<<8 | s0
}
func sopc(o *isa.Op, s0, s1 uint32) uint32 { return 0xbf000000 | uint32(o.Code)<<16 | s1<<8 | s0 }

func ds(o *isa.Op, d, addr, data0, data1, offset uint32) []uint32 {
	return []uint32{0xd8000000 | uint32(o.Code)<<18 | offset, addr | data0<<8 | data1<<16 | d<<24}
}

// aliases are other names of the same instruction in some generation.
var aliases = map[string]string{
	"v_clz_i32_u32": "v_ffbh_u32", "v_ctz_i32_b32": "v_ffbl_b32", "v_cls_i32": "v_ffbh_i32", "v_max_f32": "v_max_num_f32", "v_min_f32": "v_min_num_f32",
	"v_max_f16": "v_max_num_f16", "v_min_f16": "v_min_num_f16", "v_cvt_pk_norm_i16_f32": "v_cvt_pknorm_i16_f32", "v_cvt_pk_norm_u16_f32": "v_cvt_pknorm_u16_f32",
	"v_cvt_pk_rtz_f16_f32": "v_cvt_pkrtz_f16_f32", "v_cvt_floor_i32_f32": "v_cvt_flr_i32_f32", "v_cvt_nearest_i32_f32": "v_cvt_rpi_i32_f32",
	"v_mad_u64_u32": "v_mad_co_u64_u32", "v_mad_i64_i32": "v_mad_co_i64_i32", "v_min_f64": "v_min_num_f64", "v_max_f64": "v_max_num_f64",
	"v_cvt_pk_norm_i16_f16": "v_cvt_pknorm_i16_f16", "s_add_u32": "s_add_co_u32", "s_sub_u32": "s_sub_co_u32", "s_addc_u32": "s_add_co_ci_u32", "s_subb_u32": "s_sub_co_ci_u32",
	"s_add_i32": "s_add_co_i32", "s_sub_i32": "s_sub_co_i32", "s_andn2_b32": "s_and_not1_b32", "s_orn2_b32": "s_or_not1_b32", "s_ff1_i32_b32": "s_ctz_i32_b32",
	"s_flbit_i32_b32": "s_clz_i32_u32", "s_flbit_i32": "s_cls_i32", "s_andn2_saveexec_b32": "s_and_not1_saveexec_b32", "s_ff1_i32_b64": "s_ctz_i32_b64", "s_flbit_i32_b64": "s_clz_i32_u64",
	"ds_read_b32": "ds_load_b32", "ds_read_b64": "ds_load_b64", "ds_read_u8": "ds_load_u8", "ds_read_i8": "ds_load_i8", "ds_read_u16": "ds_load_u16", "ds_read_i16": "ds_load_i16",
	"ds_write_b32": "ds_store_b32", "ds_write_b8": "ds_store_b8", "ds_write_b16": "ds_store_b16", "ds_write_b64": "ds_store_b64", "ds_read2_b32": "ds_load_2addr_b32",
	"ds_write2_b32": "ds_store_2addr_b32", "ds_read2st64_b32": "ds_load_2addr_stride64_b32", "ds_read_u16_d16_hi": "ds_load_u16_d16_hi", "ds_read_u8_d16": "ds_load_u8_d16",
	"ds_read_b128": "ds_load_b128", "ds_write_b128": "ds_store_b128", "ds_read_b96": "ds_load_b96", "ds_write_b96": "ds_store_b96", "ds_wrxchg_rtn_b32": "ds_storexchg_rtn_b32",
	"ds_read_u8_d16_hi": "ds_load_u8_d16_hi", "ds_read_i8_d16_hi": "ds_load_i8_d16_hi", "ds_read_u16_d16": "ds_load_u16_d16",
}

// find looks an opcode up by one of its names.
func (r *rig) find(e isa.Encoding, name string) *isa.Op {
	if o := r.op(e, name); o != nil {
		return o
	}
	if a := aliases[name]; a != "" {
		if o := r.op(e, a); o != nil {
			return o
		}
	}
	for old, a := range aliases {
		if a == name {
			return r.op(e, old)
		}
	}
	return nil
}

// need is find for instructions that have to be there.
func (r *rig) need(e isa.Encoding, name string) *isa.Op {
	r.t.Helper()
	o := r.find(e, name)
	if o == nil {
		r.t.Fatalf("%s has no %s as %v", r.set.Target, name, e)
	}
	return o
}

// rigs are those of all targets.
func rigs(t testing.TB, f func(r *rig)) {
	for _, target := range isa.Targets {
		f(newRig(t, target))
	}
}

// assembled checks an encoder of this file against the names of isa.
func (r *rig) text(words ...uint32) string {
	var code []byte
	for _, w := range words {
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	in, err := r.set.Decode(code)
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(in.String(), "_e64", "")
}
