package rdna

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"gorun/hipdyn/hipemu/rdna/isa"
)

// Mistakes that emulators of these instructions have made before; each has
// cases of its own here or in the vectors.

// memoryRig is a rig with an allocation of n words, numbered from 1000 on.
func memoryRig(t *testing.T, target string, n int) (*rig, uint64) {
	r := newRig(t, target)
	va, err := r.mem.Alloc(int64(4 * n))
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 4*n)
	for i := range n {
		binary.LittleEndian.PutUint32(p[4*i:], 1000+uint32(i))
	}
	if err := r.mem.Write(va, p); err != nil {
		t.Fatal(err)
	}
	return r, va
}

func (r *rig) smem(o *isa.Op, d, base, soffset uint32, offset int32) []uint32 {
	if r.set.Generation == 12 {
		return []uint32{0xf4000000 | uint32(o.Code)<<13 | d<<6 | base>>1, uint32(offset)&0xffffff | soffset<<25}
	}
	return []uint32{0xf4000000 | uint32(o.Code)<<18 | d<<6 | base>>1, uint32(offset)&0x1fffff | soffset<<25}
}

func (r *rig) global(o *isa.Op, d, addr, data, saddr uint32, offset int32, ret bool) []uint32 {
	c, seg := uint32(o.Code), map[isa.Encoding]uint32{isa.FLAT: 0, isa.SCRATCH: 1, isa.GLOBAL: 2}[o.Encoding]
	switch r.set.Generation {
	case 10:
		return []uint32{0xdc000000 | c<<18 | seg<<14 | b2u(ret)<<16 | uint32(offset)&0xfff, addr | data<<8 | saddr<<16 | d<<24}
	case 11:
		return []uint32{0xdc000000 | c<<18 | seg<<16 | b2u(ret)<<14 | uint32(offset)&0x1fff, addr | data<<8 | saddr<<16 | d<<24}
	}
	return []uint32{0xec000000 | seg<<24 | c<<14 | saddr, d | b2u(ret)<<20 | data<<23, addr | uint32(offset)<<8}
}

// name finds an opcode by any of several names.
func (r *rig) any(e isa.Encoding, names ...string) *isa.Op {
	r.t.Helper()
	for _, n := range names {
		if o := r.op(e, n); o != nil {
			return o
		}
	}
	r.t.Fatalf("%s has none of %v", r.set.Target, names)
	return nil
}

func TestScalarLoadAddsTheRegister(t *testing.T) {
	for _, target := range isa.Targets {
		r, va := memoryRig(t, target, 64)
		r.w.setScalar64(20, va)
		r.w.s[30] = 40
		load := r.any(isa.SMEM, "s_load_dword", "s_load_b32")
		null := uint32(r.set.Null())
		for _, c := range []struct {
			register uint32
			offset   int32
			want     uint32
		}{{30, 0, 1010}, {null, 8, 1002}, {30, 20, 1015}, {null, 0, 1000}, {30, -8, 1008}, {null, 6, 1001}} { // the low bits are ignored
			r.run(r.smem(load, 10, 20, c.register, c.offset)...)
			if got := r.w.s[10]; got != c.want {
				t.Errorf("%s: %s: got %d, want %d", target, r.text(r.smem(load, 10, 20, c.register, c.offset)...), got, c.want)
			}
		}
		r.run(r.smem(r.any(isa.SMEM, "s_load_dwordx4", "s_load_b128"), 12, 20, null, 16)...)
		if r.w.s[12] != 1004 || r.w.s[15] != 1007 || r.w.s[16] != registerPoison {
			t.Errorf("%s: four words: %d %d %x", target, r.w.s[12], r.w.s[15], r.w.s[16])
		}
		var access *AccessError
		if err := r.try(r.smem(load, 10, 20, null, 256)...); !errors.As(err, &access) {
			t.Errorf("%s: load behind the end: %v", target, err)
		}
	}
}

func TestInactiveLanesOfCompare(t *testing.T) {
	rigs(t, func(r *rig) {
		r.set32(1, func(i int) uint32 { return uint32(i) })
		r.w.s[regExec], r.w.s[regVCC] = 0x00ffff00, allOn
		// v_cmp writes zero for lanes that are off.
		r.run(vopc(r.need(isa.VOPC, "v_cmp_gt_u32"), 128+16, 1))
		if r.w.s[regVCC] != 0x0000ff00 {
			t.Errorf("%s: VCC is %08x", r.set.Target, r.w.s[regVCC])
		}
		// v_cmpx turns no lane on, and leaves VCC alone.
		r.w.s[regVCC] = 0x123
		r.run(vopc(r.need(isa.VOPC, "v_cmpx_gt_u32"), 128+16, 1))
		if r.w.s[regExec] != 0x0000ff00 || r.w.s[regVCC] != 0x123 {
			t.Errorf("%s: EXEC is %08x, VCC %08x", r.set.Target, r.w.s[regExec], r.w.s[regVCC])
		}
		// The short form of a sum changes VCC even where nothing is carried.
		r.w.s[regExec], r.w.s[regVCC] = allOn, allOn
		if o := r.op(isa.VOP2, "v_add_co_ci_u32"); o != nil {
			r.set32(2, func(int) uint32 { return 5 })
			r.run(vop2(o, 3, v(1), 2))
			if r.w.s[regVCC] != 0 || r.w.v[3][4] != 10 {
				t.Errorf("%s: VCC is %08x, the sum %d", r.set.Target, r.w.s[regVCC], r.w.v[3][4])
			}
		}
	})
}

func TestConstants(t *testing.T) {
	rigs(t, func(r *rig) {
		f := math.Float32bits
		// Half constants are halves: 1.0 is 0x3c00.
		r.set32(1, func(int) uint32 { return 0x4000 })
		r.run(vop3(r.need(isa.VOP3, "v_add_f16"), 0, 242, v(1), 0, mods{})...)
		if got := r.w.v[0][0] & 0xffff; got != 0x4200 {
			t.Errorf("%s: 1.0 + 2 as halves: %04x", r.set.Target, got)
		}
		// Integers as float constants.
		r.run(vop3(r.need(isa.VOP3, "v_add_nc_u32"), 0, 242, 128+5, 0, mods{})...)
		if got := r.w.v[0][0]; got != 0x3f800005 {
			t.Errorf("%s: the bits of 1.0 plus 5: %08x", r.set.Target, got)
		}
		// Minus zero is the negation of zero.
		r.run(vop3(r.need(isa.VOP3, "v_add_f32"), 0, 128, 128, 0, mods{neg: 3})...)
		if got := r.w.v[0][0]; got != 0x80000000 {
			t.Errorf("%s: -0 + -0: %08x", r.set.Target, got)
		}
		r.set32(1, func(int) uint32 { return 0x80000000 })
		r.run(vop3(r.need(isa.VOP3, "v_mul_f32"), 0, v(1), 242, 0, mods{neg: 1})...)
		if got := r.w.v[0][0]; got != 0 {
			t.Errorf("%s: -(-0) * 1: %08x", r.set.Target, got)
		}
		// A clamp makes zero of NaN.
		r.set32(1, func(int) uint32 { return 0x7fc00000 })
		for _, name := range []string{"v_add_f32", "v_mul_f32"} {
			r.run(vop3(r.need(isa.VOP3, name), 0, v(1), 242, 0, mods{clamp: true})...)
			if got := r.w.v[0][0]; got != 0 {
				t.Errorf("%s: clamped %s of NaN: %08x", r.set.Target, name, got)
			}
		}
		// Literals of 64 bits: the high half of floats, zeros above words.
		r.set32(2, func(int) uint32 { return 0 })
		r.set32(3, func(int) uint32 { return 0x3ff00000 })
		r.run(append(vop3(r.need(isa.VOP3, "v_add_f64"), 0, 255, v(2), 0, mods{}), 0x40080000)...)
		if got := math.Float64frombits(uint64(r.w.v[0][0]) | uint64(r.w.v[1][0])<<32); got != 4 {
			t.Errorf("%s: 3.0 as a literal plus 1: %g", r.set.Target, got)
		}
		r.run(sop1(r.need(isa.SOP1, "s_mov_b64"), 10, 255), 0x80000001)
		if got := r.w.scalar64(10, 'q'); got != 0x80000001 {
			t.Errorf("%s: s_mov_b64 of a literal: %016x", r.set.Target, got)
		}
		r.run(sop1(r.need(isa.SOP1, "s_mov_b64"), 10, 193))
		if got := r.w.scalar64(10, 'q'); got != ^uint64(0) {
			t.Errorf("%s: s_mov_b64 of -1: %016x", r.set.Target, got)
		}
		// A literal of a packed instruction.
		r.set32(1, func(int) uint32 { return 0x00010002 })
		r.run(append(vop3p(r.need(isa.VOP3P, "v_pk_add_u16"), 0, 255, v(1), 0, mods{opselHi: 7}), 0x00300040)...)
		if got := r.w.v[0][0]; got != 0x00310042 {
			t.Errorf("%s: packed sum with a literal: %08x", r.set.Target, got)
		}
		// s_bfe_i64 keeps the sign.
		r.w.setScalar64(10, 0x0000_0f00_0000_0000)
		r.w.s[12] = 40 | 4<<16
		r.run(sop2(r.need(isa.SOP2, "s_bfe_i64"), 14, 10, 12))
		if got := r.w.scalar64(14, 'q'); got != ^uint64(0) {
			t.Errorf("%s: s_bfe_i64: %016x", r.set.Target, got)
		}
		_ = f
	})
	vectors += 12
}

// From gfx11 on the top bit of the number of a register means its upper half,
// where the short encodings work on 16 bits.
func TestUpperHalfRegisters(t *testing.T) {
	for _, target := range isa.Targets[1:] {
		r := newRig(t, target)
		r.set32(1, func(int) uint32 { return 0x40003c00 })
		r.set32(2, func(int) uint32 { return 0x44004200 })
		r.set32(0, func(int) uint32 { return 0x77778888 })
		add := r.need(isa.VOP2, "v_add_f16")
		r.run(vop2(add, 0, v(1+128), 2)) // 2 + 3
		if got := r.w.v[0][0]; got != 0x77774500 {
			t.Errorf("%s: upper plus lower: %08x", target, got)
		}
		r.run(vop2(add, 0+128, v(1), 2+128)) // 1 + 4
		if got := r.w.v[0][0]; got != 0x45004500 {
			t.Errorf("%s: lower plus upper to upper: %08x", target, got)
		}
		r.run(vop1(r.need(isa.VOP1, "v_cvt_f32_f16"), 0, v(1+128)))
		if got := math.Float32frombits(r.w.v[0][0]); got != 2 {
			t.Errorf("%s: conversion of the upper half: %g", target, got)
		}
		r.run(vopc(r.need(isa.VOPC, "v_cmp_lt_f16"), v(1+128), 2))
		if r.w.s[regVCC] != allOn {
			t.Errorf("%s: comparison of the upper half: %08x", target, r.w.s[regVCC])
		}
	}
	vectors += 4
}

// Work-group numbers are in TTMP registers on gfx12 only.
func TestWorkGroupNumbers(t *testing.T) {
	for _, target := range isa.Targets {
		b := newBench(t, object(t, "kernels", target))
		u := room[uint32](b, 8)
		if _, err := b.try("sizes", LaunchConfig{Grid: [3]uint32{2, 1, 1}, Block: [3]uint32{32, 1, 1}}, u); err != nil {
			t.Errorf("%s: %v", target, err)
		}
		r := newRig(t, target)
		w := r.w
		w.group.at = [3]uint32{7, 8, 9}
		w.group.launch.kernel.Rsrc2 = 6<<1 | 7<<7 // six user registers, all three numbers
		w.begin()
		if target == "gfx1201" {
			if w.s[isa.TTMP+9] != 7 || w.s[isa.TTMP+7] != 8|9<<16 || w.s[6] != registerPoison {
				t.Errorf("%s: %x %x %x", target, w.s[isa.TTMP+9], w.s[isa.TTMP+7], w.s[6])
			}
		} else if w.s[6] != 7 || w.s[7] != 8 || w.s[8] != 9 {
			t.Errorf("%s: %v", target, w.s[6:9])
		}
	}
}

// A barrier of gfx12 is signalled and waited for apart.
func TestSplitBarrier(t *testing.T) {
	r := newRig(t, "gfx1201")
	g := r.w.group
	other := &wave{group: g, id: 1}
	g.waves, g.live = append(g.waves, other), 2
	signal, wait := r.need(isa.SOP1, "s_barrier_signal"), r.need(isa.SOPP, "s_barrier_wait")
	r.run(sop1(signal, 0, 193))
	if r.w.blocked || g.phase != 0 {
		t.Fatal("a signal makes the wave wait")
	}
	r.run(0xbf800000 | uint32(wait.Code)<<16 | 0xffff)
	if !r.w.blocked {
		t.Fatal("a wait does not wait for the other wave")
	}
	other.signal()
	if r.w.blocked || g.phase != 1 || r.w.waits != 1 {
		t.Fatal("the signal of the last wave does not let the first go on")
	}
	other.wait()
	if other.blocked {
		t.Fatal("the last wave waits for itself")
	}
	// Waiting without a signal is a mistake.
	if err := r.try(0xbf800000 | uint32(wait.Code)<<16 | 0xffff); err == nil {
		t.Error("a wait without a signal passes")
	}
}

// The register for the address of scratch counts only if a bit says so.
func TestScratchAddress(t *testing.T) {
	for _, target := range isa.Targets[1:] {
		r := newRig(t, target)
		for i := range r.w.scratch {
			r.w.scratch[i], r.w.written[i] = byte(i%64), 1
		}
		load := r.any(isa.SCRATCH, "scratch_load_b32")
		r.set32(1, func(int) uint32 { return 8 })
		null := uint32(r.set.Null())
		r.w.s[20] = 16
		for _, c := range []struct {
			vector bool
			scalar uint32
			offset int32
			want   uint32
		}{{true, null, 4, 12}, {false, null, 4, 4}, {true, 20, 4, 28}, {false, 20, 0, 16}} {
			code := r.global(load, 0, 1, 0, c.scalar, c.offset, false)
			if c.vector {
				if r.set.Generation == 12 {
					code[1] |= 1 << 17
				} else {
					code[1] |= 1 << 23
				}
			}
			r.run(code...)
			if got := r.w.v[0][9] & 0xff; got != c.want {
				t.Errorf("%s: %s: got byte %d, want %d", target, r.text(code...), got, c.want)
			}
		}
		if err := r.try(r.global(load, 0, 1, 0, null, 62, false)...); err == nil || !strings.Contains(err.Error(), "scratch fault") {
			t.Errorf("%s: scratch behind the end: %v", target, err)
		}
	}
	vectors += 4
}

// Global memory: both kinds of addresses, offsets with a sign, all widths.
func TestGlobalVectors(t *testing.T) {
	for _, target := range isa.Targets {
		r, va := memoryRig(t, target, 256)
		null := uint32(r.set.Null())
		r.set32(2, func(i int) uint32 { return uint32(va) + 8*uint32(i) + 64 })
		r.set32(3, func(i int) uint32 { return uint32(va >> 32) })
		r.set32(4, func(i int) uint32 { return 4 * uint32(i) })
		r.w.setScalar64(20, va)
		load := r.any(isa.GLOBAL, "global_load_dword", "global_load_b32")
		r.run(r.global(load, 0, 2, 0, null, -16, false)...)
		if got := r.w.v[0][5]; got != 1000+12+10 {
			t.Errorf("%s: by a vector address: %d", target, got)
		}
		r.run(r.global(load, 0, 4, 0, 20, 12, false)...)
		if got := r.w.v[0][5]; got != 1008 {
			t.Errorf("%s: by a scalar address: %d", target, got)
		}
		r.run(r.global(r.any(isa.GLOBAL, "global_load_dwordx4", "global_load_b128"), 10, 2, 0, null, 0, false)...)
		if r.w.v[10][1] != 1018 || r.w.v[13][1] != 1021 {
			t.Errorf("%s: four words: %d %d", target, r.w.v[10][1], r.w.v[13][1])
		}
		r.set32(0, func(int) uint32 { return 0xaaaabbbb })
		r.run(r.global(r.any(isa.GLOBAL, "global_load_short_d16_hi", "global_load_d16_hi_b16"), 0, 2, 0, null, 0, false)...)
		if got := r.w.v[0][0]; got != (1016<<16 | 0xbbbb) {
			t.Errorf("%s: to the upper half: %08x", target, got)
		}
		r.run(r.global(r.any(isa.GLOBAL, "global_load_sbyte", "global_load_i8"), 0, 2, 0, null, 0, false)...)
		if got := r.w.v[0][0]; got != 0xfffffff8 { // 1016 is 0x3f8
			t.Errorf("%s: a byte with a sign: %08x", target, got)
		}
		// Only lanes that are on store.
		r.w.s[regExec] = 2
		r.set32(5, func(i int) uint32 { return 0xc0ffee00 + uint32(i) })
		r.run(r.global(r.any(isa.GLOBAL, "global_store_dword", "global_store_b32"), 0, 4, 5, 20, 0, false)...)
		p := make([]byte, 12)
		if err := r.mem.Read(p, va); err != nil {
			t.Fatal(err)
		}
		if a, b, c := binary.LittleEndian.Uint32(p), binary.LittleEndian.Uint32(p[4:]), binary.LittleEndian.Uint32(p[8:]); a != 1000 || b != 0xc0ffee01 || c != 1002 {
			t.Errorf("%s: stored: %d %x %d", target, a, b, c)
		}
		// An atomic instruction gives back what was there if asked to.
		r.w.s[regExec] = allOn
		r.set32(4, func(i int) uint32 { return 40 })
		r.set32(5, func(i int) uint32 { return 1 })
		add := r.any(isa.GLOBAL, "global_atomic_add", "global_atomic_add_u32")
		r.set32(0, func(int) uint32 { return 9 })
		r.run(r.global(add, 0, 4, 5, 20, 0, false)...)
		if r.w.v[0][3] != 9 {
			t.Errorf("%s: a sum without a result writes %d", target, r.w.v[0][3])
		}
		r.run(r.global(add, 0, 4, 5, 20, 0, true)...)
		if r.w.v[0][0] != 1010+32 || r.w.v[0][31] != 1010+63 {
			t.Errorf("%s: sums: %d %d", target, r.w.v[0][0], r.w.v[0][31])
		}
		swap := r.any(isa.GLOBAL, "global_atomic_cmpswap", "global_atomic_cmpswap_b32")
		r.w.s[regExec] = 1
		r.w.v[5][0], r.w.v[6][0] = 77, 1010+64 // the new value, and the one to compare with
		r.run(r.global(swap, 0, 4, 5, 20, 0, true)...)
		if err := r.mem.Read(p, va+40); err != nil {
			t.Fatal(err)
		}
		if got := binary.LittleEndian.Uint32(p); got != 77 || r.w.v[0][0] != 1010+64 {
			t.Errorf("%s: compare and swap: %d, was %d", target, got, r.w.v[0][0])
		}
	}
	vectors += 10
}

// Registers that the metadata does not count, and registers that do not exist.
func TestRegistersBeyondTheMetadata(t *testing.T) {
	for _, target := range isa.Targets {
		m, err := Load(object(t, "faults", target))
		if err != nil {
			t.Fatal(err)
		}
		k, err := m.Kernel("copy")
		if err != nil {
			t.Fatal(err)
		}
		k.VGPRs = 2
		b := &bench{t, m, NewMemory(1 << 20)}
		x := put(b, make([]float32, 64))
		if _, err := b.try("copy", LaunchConfig{Grid: [3]uint32{1}, Block: [3]uint32{64}}, x, x, 64); err == nil || !strings.Contains(err.Error(), "metadata") {
			t.Errorf("%s: more registers than the metadata says: %v", target, err)
		}
	}
}

// An instruction that is known but not implemented says what it is.
func TestNotImplemented(t *testing.T) {
	r := newRig(t, "gfx1201")
	o := r.need(isa.VOP3P, "v_swmmac_f32_16x16x32_f16")
	var missing *NotImplemented
	if err := r.try(vop3p(o, 0, v(8), v(16), v(32), mods{opselHi: 7})...); !errors.As(err, &missing) || !strings.Contains(err.Error(), "v_swmmac_f32_16x16x32_f16 v[0:7]") {
		t.Errorf("error is %v", err)
	}
	if err := r.try(0xffffffff); err == nil {
		t.Error("a word that is no instruction is executed")
	}
}

// TestCoverage counts the opcodes that can be executed.
func TestCoverage(t *testing.T) {
	all := map[string]bool{}
	for _, target := range isa.Targets {
		set, err := isa.For(target)
		if err != nil {
			t.Fatal(err)
		}
		ops, known := map[string]bool{}, map[string]bool{}
		for _, o := range set.Ops() {
			known[o.Base] = true
			in := &isa.Inst{Op: o, Set: set, D: isa.VGPR, Src: [3]uint16{isa.VGPR, isa.VGPR, isa.VGPR}, ScalarAddr: set.Null(), DstSel: isa.SelectAll, Sel: [2]uint8{isa.SelectAll, isa.SelectAll}}
			switch o.Encoding {
			case isa.SOP1, isa.SOP2, isa.SOPC, isa.SOPK, isa.SOPP, isa.SMEM:
				in.D, in.Src = 0, [3]uint16{}
				if o.Base == "s_sendmsg" {
					in.Imm = 3
				}
			case isa.VOPDX:
				in.Dual = o
			case isa.VOPDY:
				in.Dual = o
			}
			if prepare(set, &step{in: in}) == nil {
				ops[o.Base], all[o.Base] = true, true
			}
		}
		t.Logf("%s: %d of %d opcodes (names without encoding) can be executed", target, len(ops), len(known))
		for n := range known {
			if !ops[n] && testing.Verbose() && target == "gfx1201" {
				t.Log("not:", n)
			}
		}
	}
	if len(all) < 400 {
		t.Errorf("%d opcodes can be executed, should be 400", len(all))
	}
	t.Logf("%d together", len(all))
}
