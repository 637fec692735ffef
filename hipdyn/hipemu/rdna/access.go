package rdna

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"gorun/hipdyn/hipemu/rdna/isa"
)

// access is how a memory instruction makes addresses and what it does there.
type access struct {
	size      int // bytes of a lane
	data      int // first register
	dst       int
	signed    bool
	d16, high bool
	write     bool
	returns   bool
	compare   bool
	atomic    func(old, v uint64) uint64
}

// memoryNames turn names of gfx10 into those of gfx11.
var memoryNames = strings.NewReplacer("dwordx2", "b64", "dwordx3", "b96", "dwordx4", "b128", "dword", "b32",
	"_ubyte_d16_hi", "_d16_hi_u8", "_sbyte_d16_hi", "_d16_hi_i8", "store_short_d16_hi", "store_d16_hi_b16", "_short_d16_hi", "_d16_hi_b16", "store_byte_d16_hi", "store_d16_hi_b8",
	"_ubyte_d16", "_d16_u8", "_sbyte_d16", "_d16_i8", "_short_d16", "_d16_b16",
	"_ubyte", "_u8", "_sbyte", "_i8", "_ushort", "_u16", "_sshort", "_i16", "store_byte", "store_b8", "store_short", "store_b16")

var atomicNames = strings.NewReplacer("smin_x2", "min_i64", "smax_x2", "max_i64", "umin_x2", "min_u64", "umax_x2", "max_u64", "fmin_x2", "min_f64", "fmax_x2", "max_f64",
	"smin", "min_i32", "smax", "max_i32", "umin", "min_u32", "umax", "max_u32", "fmin", "min_f32", "fmax", "max_f32", "fcmpswap", "cmpswap_f32", "csub", "sub_clamp_u32")

// prepareMemory prepares an instruction for global memory or scratch.
func prepareMemory(set *isa.Set, st *step) bool {
	in := st.in
	st.class = classVMEM
	if in.LDS || in.TFE {
		return false
	}
	name := in.Op.Base
	switch name {
	case "buffer_gl0_inv", "buffer_gl1_inv", "global_inv", "global_wb", "global_wbinv":
		st.class = classOther
		st.run = nothing
		return true
	}
	_, verb, _ := strings.Cut(name, "_") // without flat_, global_, ...
	a := &st.mem
	a.data, a.dst = int(in.Src[1])-isa.VGPR, int(in.D)-isa.VGPR
	if in.Op.Encoding == isa.MUBUF {
		a.data = a.dst
	}
	if what, ok := strings.CutPrefix(verb, "atomic_"); ok {
		if !prepareAtomic(st, what) {
			return false
		}
	} else {
		verb = memoryNames.Replace(verb)
		parts := strings.Split(verb, "_")
		size, ok := typeSizes[parts[len(parts)-1]]
		if !ok || parts[0] != "load" && parts[0] != "store" || len(parts) > 4 {
			return false
		}
		for _, p := range parts[1 : len(parts)-1] {
			switch p {
			case "d16":
				a.d16 = true
			case "hi":
				a.high = true
			default:
				return false
			}
		}
		a.size, a.write = size, parts[0] == "store"
		a.signed = parts[len(parts)-1][0] == 'i'
	}
	// Which registers are in use.
	note := func(r, n int) {
		if r >= 0 {
			st.maxV = max(st.maxV, r+n-1)
		}
	}
	words := max(a.size/4, 1)
	if a.write || a.atomic != nil {
		n := words
		if a.compare {
			n *= 2
		}
		note(a.data, n)
	}
	if !a.write && a.atomic == nil || a.returns {
		note(a.dst, words)
	}
	va := int(in.Src[0]) - isa.VGPR
	var address func(w *wave, st *step, addr *[lanes]uint64)
	switch in.Op.Encoding {
	case isa.MUBUF:
		if in.OffEn || in.IdxEn {
			note(va, int(b2u(in.OffEn)+b2u(in.IdxEn)))
		}
		address = bufferAddress
	case isa.SCRATCH:
		st.class = classScratch
		if in.VectorAddr {
			note(va, 1)
		}
		st.run = runScratch
		return true
	default:
		if in.Op.Encoding == isa.GLOBAL && in.ScalarAddr != set.Null() {
			note(va, 1)
		} else {
			note(va, 2)
		}
		address = flatAddress
	}
	st.run = func(w *wave, st *step) {
		address(w, st, &w.addr)
		w.globalAccess(st, &w.addr)
	}
	return true
}

func prepareAtomic(st *step, what string) bool {
	a := &st.mem
	what = atomicNames.Replace(what)
	parts := strings.Split(what, "_")
	typ := parts[len(parts)-1]
	if _, ok := typeSizes[typ]; !ok {
		// Names of gfx10 have no type, or x2 for 64 bits.
		typ = "u32"
		if parts[len(parts)-1] == "x2" {
			typ, parts = "u64", parts[:len(parts)-1]
		}
		parts = append(parts, typ)
	}
	a.size = typeSizes[typ]
	verb := strings.Join(parts[:len(parts)-1], "_")
	a.returns = st.in.Returns()
	if verb == "cmpswap" {
		a.compare = true
		a.atomic = func(old, v uint64) uint64 { return v }
		return true
	}
	a.atomic = atomicOp(verb, typ)
	return a.atomic != nil
}

// atomicOp is an operation on memory and a value.
func atomicOp(verb, typ string) func(old, v uint64) uint64 {
	long := typeSizes[typ] == 8
	cut := func(v uint64) uint64 {
		if !long {
			return u32(v)
		}
		return v
	}
	signed := func(v uint64) int64 {
		if !long {
			return s32(v)
		}
		return int64(v)
	}
	f, add := format32, add32
	if typ == "f64" {
		f, add = format64, add64
	}
	switch verb {
	case "swap":
		return func(_, v uint64) uint64 { return v }
	case "add":
		if typ[0] == 'f' {
			return add
		}
		return func(old, v uint64) uint64 { return old + v }
	case "sub":
		return func(old, v uint64) uint64 { return old - v }
	case "rsub":
		return func(old, v uint64) uint64 { return v - old }
	case "inc":
		return func(old, v uint64) uint64 {
			if cut(old) >= cut(v) {
				return 0
			}
			return old + 1
		}
	case "dec":
		return func(old, v uint64) uint64 {
			if cut(old) == 0 || cut(old) > cut(v) {
				return v
			}
			return old - 1
		}
	case "and":
		return func(old, v uint64) uint64 { return old & v }
	case "or":
		return func(old, v uint64) uint64 { return old | v }
	case "xor":
		return func(old, v uint64) uint64 { return old ^ v }
	case "sub_clamp", "csub":
		return func(old, v uint64) uint64 { return uint64(max(int64(u32(old))-int64(u32(v)), 0)) }
	case "cond_sub":
		return func(old, v uint64) uint64 {
			if u32(old) >= u32(v) {
				return old - v
			}
			return old
		}
	case "min", "max", "min_num", "max_num":
		larger := verb[:3] == "max"
		switch typ[0] {
		case 'f':
			rule := nanIEEE
			if len(verb) > 3 {
				rule = nanNumber
			}
			return func(old, v uint64) uint64 { return f.pick(rule, old, v, larger) }
		case 'i':
			return func(old, v uint64) uint64 {
				if (signed(old) < signed(v)) != larger {
					return old
				}
				return v
			}
		}
		return func(old, v uint64) uint64 {
			if (cut(old) < cut(v)) != larger {
				return old
			}
			return v
		}
	case "pk_add":
		if typ == "bf16" {
			one := func(a, b uint64) uint64 { return bitsB16(b16of(a&0xffff) + b16of(b&0xffff)) }
			return func(old, v uint64) uint64 { return one(old, v) | one(old>>16, v>>16)<<16 }
		}
		return func(old, v uint64) uint64 {
			return add16(old&0xffff, v&0xffff) | add16(old>>16&0xffff, v>>16&0xffff)<<16
		}
	}
	return nil
}

// flatAddress makes the addresses of flat and global instructions.
func flatAddress(w *wave, st *step, addr *[lanes]uint64) {
	in := st.in
	v := int(in.Src[0]) - isa.VGPR
	lo := &w.v[v]
	offset := uint64(int64(in.Offset))
	if in.Op.Encoding == isa.GLOBAL && in.ScalarAddr != in.Set.Null() {
		base := w.scalar64(in.ScalarAddr, 'q') + offset
		for i := range addr {
			addr[i] = base + uint64(lo[i])
		}
		return
	}
	hi := &w.v[v+1]
	for i := range addr {
		addr[i] = (uint64(lo[i]) | uint64(hi[i])<<32) + offset
	}
}

// bufferAddress makes the addresses of buffer instructions: a raw buffer, or
// one of records, without swizzling; out of range is a fault here. The buffer
// of scratch on gfx10 is told by its address.
func bufferAddress(w *wave, st *step, addr *[lanes]uint64) {
	in := st.in
	r := in.Src[1] &^ 3
	base := uint64(w.scalar(r)) | uint64(w.scalar(r+1)&0xffff)<<32
	stride := uint64(w.scalar(r+1) >> 16 & 0x3fff)
	records := uint64(w.scalar(r + 2))
	soffset := uint64(w.scalar(in.Src[2]))
	for m := w.exec(); m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m)
		offset := uint64(int64(in.Offset))
		var index uint64
		v := int(in.Src[0]) - isa.VGPR
		if in.IdxEn {
			index = uint64(w.v[v][i])
			v++
		}
		if in.OffEn {
			offset += uint64(w.v[v][i])
		}
		if base != scratchBase {
			if in.IdxEn {
				if index >= records {
					w.fail(i, fmt.Errorf("buffer index %d is not below %d", index, records))
				}
			} else if offset+uint64(st.mem.size) > records {
				w.fail(i, fmt.Errorf("buffer offset %d of %d bytes is beyond %d", offset, st.mem.size, records))
			}
		}
		addr[i] = base + soffset + index*stride + offset
	}
}

// globalAccess loads, stores or changes memory at an address for each lane.
func (w *wave) globalAccess(st *step, addr *[lanes]uint64) {
	a := &st.mem
	exec := w.exec()
	if exec == 0 {
		return
	}
	if st.in.Op.Encoding == isa.MUBUF && addr[bits.TrailingZeros32(exec)]>>40 == scratchBase>>40 {
		for i := range w.local {
			w.local[i] = uint32(addr[i] - scratchBase)
		}
		w.scratchAccess(st, &w.local)
		return
	}
	if raceEnabled {
		takeTurn()
		defer leaveTurn()
	}
	w.countSegments(addr, exec, uint64(a.size))
	size := uint64(a.size)
	switch {
	case a.atomic != nil:
		w.globalAtomic(st, addr)
	case a.write:
		w.n.GlobalWriteBytes += size * uint64(bits.OnesCount32(exec))
		for m := exec; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m) & 31
			r := w.region(i, addr[i], size, true)
			p := r.data[addr[i]-r.va:]
			switch a.size {
			case 4:
				binary.LittleEndian.PutUint32(p, w.v[a.data][i])
			case 1, 2:
				v := w.v[a.data][i]
				if a.high {
					v >>= 16
				}
				if a.size == 1 {
					p[0] = byte(v)
				} else {
					binary.LittleEndian.PutUint16(p, uint16(v))
				}
			default:
				for k := range a.size / 4 {
					binary.LittleEndian.PutUint32(p[4*k:], w.v[a.data+k][i])
				}
			}
			r.define(addr[i], a.size)
		}
	default:
		w.n.GlobalReadBytes += size * uint64(bits.OnesCount32(exec))
		r := &w.loaded
		for m := exec; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m) & 31
			g := w.region(i, addr[i], size, false)
			w.checkDefined(i, g, addr[i], size)
			p := g.data[addr[i]-g.va:]
			switch a.size {
			case 4:
				r[0][i] = binary.LittleEndian.Uint32(p)
			case 1:
				r[0][i] = w.narrow(a.dst, i, uint32(p[0]), 1, a.signed, a.d16, a.high)
			case 2:
				r[0][i] = w.narrow(a.dst, i, uint32(binary.LittleEndian.Uint16(p)), 2, a.signed, a.d16, a.high)
			default:
				for k := range a.size / 4 {
					r[k][i] = binary.LittleEndian.Uint32(p[4*k:])
				}
			}
		}
		w.write(a.dst, max(a.size/4, 1), exec, r)
	}
}

// region finds the memory of an access.
func (w *wave) region(lane int, va, size uint64, write bool) *region {
	r := w.near
	if r == nil || va < r.va || va-r.va > uint64(len(r.data)) || uint64(len(r.data))-(va-r.va) < size || write && r.readers || r.freed.Load() {
		var err error
		if r, err = w.group.launch.mem.lookup(va, size, write); err != nil {
			w.fail(lane, err)
		}
		w.near = r
	}
	if u := w.group.launch.cfg.Watch; u != nil {
		if w.watched != r {
			w.watched, w.use = r, u.of(r)
		}
		if w.use != nil {
			w.use.note(va-r.va, size, write)
		}
	}
	return r
}

func (w *wave) checkDefined(lane int, r *region, va, size uint64) {
	if r.defined == nil || w.group.launch.cfg.Ignore&UndefinedMemory != 0 {
		return
	}
	for i, d := range r.defined[va-r.va:][:size] {
		if d == 0 {
			w.fail(lane, &UndefinedError{"global memory", va + uint64(i)})
		}
	}
}

// countSegments counts the 128-byte segments that the lanes touch together.
func (w *wave) countSegments(addr *[lanes]uint64, exec uint32, size uint64) {
	w.touched = w.touched[:0]
	last := ^uint64(0)
	for m := exec; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		for s := addr[i] / 128; s <= (addr[i]+size-1)/128; s++ {
			if s != last && !slices.Contains(w.touched, s) {
				w.touched = append(w.touched, s)
			}
			last = s
		}
	}
	w.n.GlobalSegments += uint64(len(w.touched))
}

// atomicLocks keep atomic operations of work-groups on the same memory apart.
var atomicLocks [64]sync.Mutex

func (w *wave) globalAtomic(st *step, addr *[lanes]uint64) {
	a := &st.mem
	exec, size := w.exec(), uint64(a.size)
	res := &w.loaded
	for m := exec; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m)
		va := addr[i]
		if va%size != 0 {
			w.fail(i, fmt.Errorf("atomic access to 0x%x, which is not aligned to %d bytes", va, size))
		}
		r := w.region(i, va, size, true)
		w.checkDefined(i, r, va, size)
		p := r.data[va-r.va:]
		lock := &atomicLocks[va/8%uint64(len(atomicLocks))]
		v := w.wide(a.data, i, a.size)
		var cmp uint64
		if a.compare {
			cmp = w.wide(a.data+a.size/4, i, a.size)
		}
		lock.Lock()
		var old uint64
		if a.size == 8 {
			old = binary.LittleEndian.Uint64(p)
		} else {
			old = uint64(binary.LittleEndian.Uint32(p))
		}
		n := old
		if !a.compare || old == cmp {
			n = a.atomic(old, v)
		}
		if a.size == 8 {
			binary.LittleEndian.PutUint64(p, n)
		} else {
			binary.LittleEndian.PutUint32(p, uint32(n))
		}
		lock.Unlock()
		res[0][i], res[1][i] = uint32(old), uint32(old>>32)
	}
	n := uint64(bits.OnesCount32(exec))
	w.n.Atomics += n
	w.n.GlobalReadBytes += n * size
	w.n.GlobalWriteBytes += n * size
	if a.returns {
		w.write(a.dst, a.size/4, exec, res)
	}
}

func runScratch(w *wave, st *step) {
	in := st.in
	addr := &w.local
	base := uint32(in.Offset)
	if in.ScalarAddr != in.Set.Null() {
		base += w.scalar(in.ScalarAddr)
	}
	for i := range addr {
		addr[i] = base
		if in.VectorAddr {
			addr[i] += w.v[in.Src[0]-isa.VGPR][i]
		}
	}
	w.scratchAccess(st, addr)
}

// scratchAccess loads or stores private memory of the lanes.
func (w *wave) scratchAccess(st *step, addr *[lanes]uint32) {
	a := &st.mem
	if a.atomic != nil {
		w.failf("an atomic access to scratch is not implemented")
	}
	per := len(w.scratch) / lanes
	exec := w.exec()
	r := &w.loaded
	for m := exec; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m)
		if uint64(addr[i])+uint64(a.size) > uint64(per) {
			w.fail(i, fmt.Errorf("scratch fault: %d bytes at 0x%x: a work-item has %d", a.size, addr[i], per))
		}
		at := i*per + int(addr[i])
		p, defined := w.scratch[at:at+a.size], w.written[at:at+a.size]
		if a.write {
			v := w.v[a.data][i]
			if a.high {
				v >>= 16
			}
			switch a.size {
			case 1:
				p[0] = byte(v)
			case 2:
				binary.LittleEndian.PutUint16(p, uint16(v))
			default:
				for k := range a.size / 4 {
					binary.LittleEndian.PutUint32(p[4*k:], w.v[a.data+k][i])
				}
			}
			fill(defined, 1)
			continue
		}
		if w.group.launch.cfg.Ignore&UndefinedMemory == 0 && slices.Contains(defined, 0) {
			w.fail(i, &UndefinedError{"scratch", uint64(addr[i])})
		}
		switch a.size {
		case 1:
			r[0][i] = w.narrow(a.dst, i, uint32(p[0]), 1, a.signed, a.d16, a.high)
		case 2:
			r[0][i] = w.narrow(a.dst, i, uint32(binary.LittleEndian.Uint16(p)), 2, a.signed, a.d16, a.high)
		default:
			for k := range a.size / 4 {
				r[k][i] = binary.LittleEndian.Uint32(p[4*k:])
			}
		}
	}
	if !a.write {
		w.write(a.dst, max(a.size/4, 1), exec, r)
	}
}

// prepareScalarMemory prepares an SMEM instruction.
func prepareScalarMemory(set *isa.Set, st *step) bool {
	in := st.in
	st.class = classSMEM
	name := memoryNames.Replace(strings.Replace(strings.Replace(in.Op.Base, "dwordx8", "b256", 1), "dwordx16", "b512", 1))
	switch {
	case strings.Contains(name, "_inv"), strings.Contains(name, "prefetch"):
		st.run = nothing
		return true
	case strings.Contains(name, "time"):
		st.run = func(w *wave, st *step) { w.setScalar64(in.D, 0) } // time does not pass here
		return true
	}
	buffer := strings.HasPrefix(name, "s_buffer_load_")
	typ := name[strings.LastIndexByte(name, '_')+1:]
	size, ok := map[string]int{"b256": 32, "b512": 64}[typ]
	if !ok {
		if size, ok = typeSizes[typ]; !ok || !strings.Contains(name, "_load_") {
			return false
		}
	}
	signed := typ[0] == 'i'
	st.run = func(w *wave, st *step) {
		offset := uint64(int64(in.Offset))
		if in.ScalarAddr != set.Null() {
			offset += uint64(w.scalar(in.ScalarAddr))
		}
		va := w.scalar64(in.Src[0], 'q')
		if buffer {
			va &= 1<<48 - 1
			if records := uint64(w.scalar(in.Src[0] + 2)); offset+uint64(size) > records {
				w.failf("buffer offset %d of %d bytes is beyond %d", offset, size, records)
			}
		}
		if raceEnabled {
			takeTurn()
			defer leaveTurn()
		}
		va += offset
		if size >= 4 {
			va &^= 3 // the low bits are ignored
		}
		r := w.region(-1, va, uint64(size), false)
		w.checkDefined(-1, r, va, uint64(size))
		p := r.data[va-r.va:]
		switch size {
		case 1, 2:
			v := uint32(p[0])
			if size == 2 {
				v |= uint32(p[1]) << 8
			}
			if signed {
				shift := 32 - 8*size
				v = uint32(int32(v<<shift) >> shift)
			}
			w.setScalar(in.D, v)
			return
		}
		for k := range size / 4 {
			w.setScalar(in.D+uint16(k), binary.LittleEndian.Uint32(p[4*k:]))
		}
	}
	return true
}
