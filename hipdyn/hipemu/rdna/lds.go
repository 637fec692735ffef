package rdna

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"

	"gorun/hipdyn/hipemu/rdna/isa"
)

// lds is the local memory of a work-group: its bytes, which of them have been
// written, and who used each 4 bytes since when.
type lds struct {
	data    []byte
	defined []byte
	uses    []use
}

// use says who used 4 bytes of LDS last. Two accesses of different waves, one
// of them a write, are a race unless a barrier lies between: the first wave
// signalled it after its access, the second waited for it before its own. So
// a wave remembers how many barriers it had signalled by then.
type use struct {
	writer, writeAt   uint32 // wave + 1, and its signals
	readers           [2]uint32
	readAt            [2]uint32
	written, readMask uint8 // bytes
	atomic            bool
}

func (l *lds) init(size int) {
	l.data, l.defined = make([]byte, size), make([]byte, size)
	l.uses = make([]use, (size+3)/4)
}

func (l *lds) reset() {
	fill(l.data, poison)
	clear(l.defined)
	clear(l.uses)
}

// UndefinedError is the error of a read of memory that was never written.
type UndefinedError struct {
	Where string // "global memory", "LDS", "scratch"
	Addr  uint64
}

func (e *UndefinedError) Error() string {
	return fmt.Sprintf("read of %s at 0x%x that was never written", e.Where, e.Addr)
}

// RaceError is the error of two waves using the same LDS without a barrier
// between them.
type RaceError struct {
	Addr         uint32
	First        int // waves
	Second       int
	FirstWrites  bool
	SecondWrites bool
}

func (e *RaceError) Error() string {
	verb := func(w bool) string {
		if w {
			return "writes"
		}
		return "reads"
	}
	return fmt.Sprintf("race in LDS at 0x%x: wave %d %s what wave %d %s without a barrier between", e.Addr, e.Second, verb(e.SecondWrites), e.First, verb(e.FirstWrites))
}

// access checks an access of a lane to LDS and notes it.
func (w *wave) ldsAccess(lane int, addr, size uint32, write, atomic bool) {
	l := &w.group.lds
	if uint64(addr)+uint64(size) > uint64(len(l.data)) {
		w.fail(lane, fmt.Errorf("LDS fault: %d bytes at 0x%x: the work-group has %d", size, addr, len(l.data)))
	}
	ignore := w.group.launch.cfg.Ignore
	if (!write || atomic) && ignore&UndefinedLDS == 0 {
		for i, d := range l.defined[addr : addr+size] {
			if d == 0 {
				w.fail(lane, &UndefinedError{"LDS", uint64(addr) + uint64(i)})
			}
		}
	}
	if write {
		fill(l.defined[addr:addr+size], 1)
	}
	if ignore&RaceLDS != 0 || len(w.group.waves) == 1 {
		return
	}
	for a := addr &^ 3; a < addr+size; a += 4 {
		mask := uint8(15)
		if a < addr {
			mask &= 15 << (addr - a)
		}
		if end := addr + size - a; end < 4 {
			mask &= 1<<end - 1
		}
		w.race(lane, a, mask, write, atomic)
	}
}

func (w *wave) race(lane int, addr uint32, mask uint8, write, atomic bool) {
	u := &w.group.lds.uses[addr/4]
	me := uint32(w.id) + 1
	conflict := func(who, at uint32, first bool) {
		if who != 0 && who != me && at >= w.waits {
			w.fail(lane, &RaceError{addr, int(who) - 1, w.id, first, write})
		}
	}
	if u.written&mask != 0 && !(atomic && u.atomic) {
		conflict(u.writer, u.writeAt, true)
	}
	if write {
		if u.readMask&mask != 0 {
			conflict(u.readers[0], u.readAt[0], false)
			conflict(u.readers[1], u.readAt[1], false)
		}
		if u.writer == me && u.writeAt == w.signals {
			u.written |= mask
		} else {
			u.writer, u.writeAt, u.written = me, w.signals, mask
		}
		u.atomic = atomic
		return
	}
	switch {
	case u.readers[0] == me:
		u.readAt[0] = w.signals
		u.readMask |= mask
	case u.readers[1] == me:
		u.readAt[1] = w.signals
		u.readMask |= mask
	default: // the older one is forgotten
		u.readers[1], u.readAt[1] = u.readers[0], u.readAt[0]
		u.readers[0], u.readAt[0] = me, w.signals
		u.readMask |= mask
	}
}

func (l *lds) load(addr uint32, size int) uint64 {
	d := l.data[addr:]
	switch size {
	case 1:
		return uint64(d[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(d))
	case 4:
		return uint64(binary.LittleEndian.Uint32(d))
	}
	return binary.LittleEndian.Uint64(d)
}

func (l *lds) store(addr uint32, size int, v uint64) {
	d := l.data[addr:]
	switch size {
	case 1:
		d[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(d, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(d, uint32(v))
	default:
		binary.LittleEndian.PutUint64(d, v)
	}
}

// conflicts counts the cycles that an access costs beyond the first because
// lanes need different words of one of the 32 banks. Accesses of more than 4
// bytes go in parts of fewer lanes.
func (w *wave) conflicts(addr *[lanes]uint32, size int) {
	per := lanes // lanes that are served together
	if size > 4 {
		per = lanes / ((size/4 + 1) &^ 1)
	}
	words := max(size/4, 1)
	exec := w.exec()
	for first := 0; first < lanes; first += per {
		// The words of a bank are chained: the last one, and for each the one before.
		var last [32]int16
		var count [32]uint8
		var word [4 * lanes]uint32
		var before [4 * lanes]int16
		n, worst := int16(0), uint8(1)
		for i := first; i < first+per; i++ {
			if exec>>i&1 == 0 {
				continue
			}
		next:
			for k := range words {
				a := addr[i]/4 + uint32(k)
				bank := a % 32
				if count[bank] > 0 {
					for at, left := last[bank], count[bank]; left > 0; at, left = before[at], left-1 {
						if word[at] == a {
							continue next
						}
					}
				}
				word[n], before[n], last[bank] = a, last[bank], n
				n++
				count[bank]++
				worst = max(worst, count[bank])
			}
		}
		w.n.LDSConflicts += uint64(worst - 1)
	}
}

// ldsNames are names of gfx10 with their successors.
var ldsNames = strings.NewReplacer("ds_read2st64_", "ds_load_2addr_stride64_", "ds_write2st64_", "ds_store_2addr_stride64_", "ds_read2_", "ds_load_2addr_", "ds_write2_", "ds_store_2addr_",
	"ds_read_", "ds_load_", "ds_write_", "ds_store_", "ds_wrxchg2st64_rtn_", "ds_storexchg_2addr_stride64_rtn_", "ds_wrxchg2_rtn_", "ds_storexchg_2addr_rtn_", "ds_wrxchg_rtn_", "ds_storexchg_rtn_", "ds_cmpst_", "ds_cmpstore_")

// typeSizes are the bytes that the last part of a name stands for.
var typeSizes = map[string]int{"b8": 1, "u8": 1, "i8": 1, "b16": 2, "u16": 2, "i16": 2, "b32": 4, "u32": 4, "i32": 4, "f32": 4, "f16": 4, "bf16": 4, "b64": 8, "u64": 8, "i64": 8, "f64": 8, "b96": 12, "b128": 16}

// prepareLDS prepares a DS instruction.
func prepareLDS(set *isa.Set, st *step) bool {
	st.class = classDS
	in := st.in
	if in.GDS {
		return false
	}
	name := ldsNames.Replace(in.Op.Base)
	switch name {
	case "ds_bpermute_b32":
		st.run = runBpermute
		return true
	case "ds_permute_b32":
		st.run = runPush
		return true
	case "ds_swizzle_b32":
		st.run = runSwizzle
		return true
	case "ds_nop":
		st.run = nothing
		return true
	}
	parts := strings.Split(strings.TrimPrefix(name, "ds_"), "_")
	d := int(in.D) - isa.VGPR
	data := [2]int{int(in.Src[1]) - isa.VGPR, int(in.Src[2]) - isa.VGPR}
	highHalf, d16 := false, false
	if parts[len(parts)-1] == "hi" {
		highHalf, parts = true, parts[:len(parts)-1]
	}
	if parts[len(parts)-1] == "d16" {
		d16, parts = true, parts[:len(parts)-1]
	}
	typ := parts[len(parts)-1]
	size, ok := typeSizes[typ]
	if !ok {
		return false
	}
	verb := strings.Join(parts[:len(parts)-1], "_")
	stride := uint32(size)
	if strings.Contains(verb, "stride64") {
		stride *= 64
	}
	switch verb {
	case "load":
		st.run = func(w *wave, st *step) { w.ldsLoad(d, size, typ[0] == 'i', d16, highHalf) }
	case "store":
		st.run = func(w *wave, st *step) { w.ldsStore(data[0], size, highHalf) }
	case "load_2addr", "load_2addr_stride64":
		st.run = func(w *wave, st *step) { w.ldsLoad2(d, size, stride) }
	case "store_2addr", "store_2addr_stride64":
		st.run = func(w *wave, st *step) { w.ldsStore2(data, size, stride) }
	default:
		returns := false
		if v, found := strings.CutSuffix(verb, "_rtn"); found {
			verb, returns = v, true
		}
		if verb == "storexchg" {
			verb = "swap"
		}
		f := atomicOp(verb, typ)
		compare := verb == "cmpstore"
		if compare {
			f = atomicOp("swap", typ)
		}
		if f == nil || strings.Contains(verb, "2addr") {
			return false
		}
		gfx10Order := strings.HasPrefix(in.Op.Base, "ds_cmpst_")
		st.run = func(w *wave, st *step) { w.ldsAtomic(d, data, size, f, returns, compare, gfx10Order) }
	}
	return true
}

// ldsAddresses are the addresses of the lanes, plus an offset.
func (w *wave) ldsAddresses(offset uint32) *[lanes]uint32 {
	a, v := &w.local, &w.v[w.step.in.Src[0]-isa.VGPR]
	for i := range a {
		a[i] = v[i] + offset
	}
	return a
}

// aligned checks the alignment that LDS instructions need.
func (w *wave) aligned(lane int, addr uint32, size int) {
	if need := uint32(min(size, 16)); need&(need-1) == 0 && addr%min(need, 4) != 0 {
		w.fail(lane, fmt.Errorf("LDS address 0x%x is not aligned to %d bytes", addr, min(need, 4)))
	}
}

func (w *wave) ldsLoad(d, size int, signed, d16, high bool) {
	addr := w.ldsAddresses(uint32(w.step.in.Offset))
	w.conflicts(addr, size)
	l := &w.group.lds
	exec := w.exec()
	r := &w.loaded
	for m := exec; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m)
		w.aligned(i, addr[i], size)
		w.ldsAccess(i, addr[i], uint32(size), false, false)
		if size < 4 {
			r[0][i] = w.narrow(d, i, uint32(l.load(addr[i], size)), size, signed, d16, high)
			continue
		}
		for k := range size / 4 {
			r[k][i] = uint32(l.load(addr[i]+uint32(4*k), 4))
		}
	}
	w.write(d, max(size/4, 1), exec, r)
}

// narrow is what a load of 1 or 2 bytes makes of a register.
func (w *wave) narrow(d, lane int, v uint32, size int, signed, d16, high bool) uint32 {
	if signed {
		shift := 32 - 8*size
		v = uint32(int32(v<<shift) >> shift)
	}
	switch {
	case d16 && high:
		return w.v[d][lane]&0xffff | v<<16
	case d16:
		return w.v[d][lane]&^0xffff | v&0xffff
	}
	return v
}

// write writes registers d, d+1, ... in the lanes that are on.
func (w *wave) write(d, n int, exec uint32, r *[4][lanes]uint32) {
	for k := range n {
		if exec == allOn {
			w.v[d+k] = r[k]
			continue
		}
		for m := exec; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m)
			w.v[d+k][i] = r[k][i]
		}
	}
}

func (w *wave) ldsStore(data, size int, high bool) {
	addr := w.ldsAddresses(uint32(w.step.in.Offset))
	w.conflicts(addr, size)
	l := &w.group.lds
	for m := w.exec(); m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m)
		w.aligned(i, addr[i], size)
		w.ldsAccess(i, addr[i], uint32(size), true, false)
		if size < 4 {
			v := w.v[data][i]
			if high {
				v >>= 16
			}
			l.store(addr[i], size, uint64(v))
			continue
		}
		for k := range size / 4 {
			l.store(addr[i]+uint32(4*k), 4, uint64(w.v[data+k][i]))
		}
	}
}

func (w *wave) ldsLoad2(d, size int, stride uint32) {
	in := w.step.in
	l := &w.group.lds
	exec := w.exec()
	r := &w.loaded
	n := size / 4
	for part, offset := range [2]uint32{uint32(in.Offset), uint32(in.Offset1)} {
		addr := w.ldsAddresses(offset * stride)
		w.conflicts(addr, size)
		for m := exec; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m)
			w.aligned(i, addr[i], size)
			w.ldsAccess(i, addr[i], uint32(size), false, false)
			for k := range n {
				r[part*n+k][i] = uint32(l.load(addr[i]+uint32(4*k), 4))
			}
		}
	}
	w.write(d, 2*n, exec, r)
}

func (w *wave) ldsStore2(data [2]int, size int, stride uint32) {
	in := w.step.in
	l := &w.group.lds
	for part, offset := range [2]uint32{uint32(in.Offset), uint32(in.Offset1)} {
		addr := w.ldsAddresses(offset * stride)
		w.conflicts(addr, size)
		for m := w.exec(); m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m)
			w.aligned(i, addr[i], size)
			w.ldsAccess(i, addr[i], uint32(size), true, false)
			for k := range size / 4 {
				l.store(addr[i]+uint32(4*k), 4, uint64(w.v[data[part]+k][i]))
			}
		}
	}
}

func (w *wave) wide(v, lane, size int) uint64 {
	x := uint64(w.v[v][lane])
	if size == 8 {
		x |= uint64(w.v[v+1][lane]) << 32
	}
	return x
}

func (w *wave) ldsAtomic(d int, data [2]int, size int, f func(old, v uint64) uint64, returns, compare, gfx10Order bool) {
	addr := w.ldsAddresses(uint32(w.step.in.Offset))
	w.conflicts(addr, size)
	l := &w.group.lds
	r := &w.loaded
	exec := w.exec()
	for m := exec; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m)
		w.aligned(i, addr[i], size)
		w.ldsAccess(i, addr[i], uint32(size), true, true)
		old := l.load(addr[i], size)
		v := w.wide(data[0], i, size)
		if compare {
			// gfx10: data0 is compared with, data1 stored; later the other way.
			cmp, src := w.wide(data[1], i, size), v
			if gfx10Order {
				cmp, src = src, cmp
			}
			if v = old; old == cmp {
				v = src
			}
		} else {
			v = f(old, v)
		}
		l.store(addr[i], size, v)
		r[0][i], r[1][i] = uint32(old), uint32(old>>32)
	}
	if returns {
		w.write(d, size/4, exec, r)
	}
}

// runBpermute pulls from the lane that the address names.
func runBpermute(w *wave, st *step) {
	in := st.in
	addr, data := w.v[in.Src[0]-isa.VGPR], w.v[in.Src[1]-isa.VGPR]
	exec, r := w.exec(), &w.loaded
	r[0] = [lanes]uint32{}
	for i := range lanes {
		from := (addr[i] + uint32(in.Offset)) / 4 % lanes
		if exec>>from&1 != 0 {
			r[0][i] = data[from]
		}
	}
	w.write(int(in.D)-isa.VGPR, 1, exec, r)
}

// runPush pushes to the lane that the address names; lanes that get nothing
// get zero, and the highest lane wins.
func runPush(w *wave, st *step) {
	in := st.in
	addr, data := w.v[in.Src[0]-isa.VGPR], w.v[in.Src[1]-isa.VGPR]
	exec, r := w.exec(), &w.loaded
	r[0] = [lanes]uint32{}
	for m := exec; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m)
		r[0][(addr[i]+uint32(in.Offset))/4%lanes] = data[i]
	}
	w.write(int(in.D)-isa.VGPR, 1, exec, r)
}

// runSwizzle moves lanes by a fixed pattern.
func runSwizzle(w *wave, st *step) {
	in := st.in
	data := w.v[in.Src[0]-isa.VGPR]
	exec, v, r := w.exec(), int(in.Offset), &w.loaded
	r[0] = [lanes]uint32{}
	for i := range lanes {
		from := 0
		switch {
		case v&0x8000 != 0 && v < 0xc000:
			from = i&^3 | v>>(2*(i&3))&3
		case v&0x8000 != 0:
			w.failf("swizzle pattern 0x%x is not implemented", v)
		default:
			from = (i&(v&31) | v>>5&31) ^ v>>10&31
		}
		if exec>>from&1 != 0 {
			r[0][i] = data[from]
		}
	}
	w.write(int(in.D)-isa.VGPR, 1, exec, r)
}
