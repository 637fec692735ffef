package hipemu

import (
	"encoding/binary"
	"slices"

	"gorun/hipdyn/abi"
)

// virtualGranularity is what sizes and addresses of virtual memory are
// multiples of.
const virtualGranularity = 2 << 20

// reservation is a range of addresses.
type reservation struct {
	dev  *device
	va   uint64
	size uint64
}

// virtualMemory is a hipMemGenericAllocationHandle_t.
type virtualMemory struct {
	dev    *device
	size   uint64
	mapped bool
}

// mapping is virtual memory in a range. It can be used when access has been set.
type mapping struct {
	va         uint64
	memory     *virtualMemory
	accessible bool
}

func (m *mapping) end() uint64 { return m.va + m.memory.size }

func (e *Emulator) hipMemAddressReserve(out *uintptr, size, align, address uintptr, flags uint64) abi.Code {
	if size == 0 || size%virtualGranularity != 0 || address != 0 || flags != 0 {
		return abi.InvalidValue
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	d := e.here()
	va, err := d.mem.Reserve(int64(size), virtualGranularity)
	if err != nil {
		return abi.OutOfMemory
	}
	e.handles[uintptr(va)] = &reservation{d, va, uint64(size)}
	*out = uintptr(va)
	return abi.Success
}

func (e *Emulator) hipMemAddressFree(address, size uintptr) abi.Code {
	e.mu.Lock()
	defer e.mu.Unlock()
	r, ok := lookup[*reservation](e, "hipMemAddressFree", address)
	if !ok || uint64(size) != r.size {
		return abi.InvalidValue
	}
	for _, m := range r.dev.mapped {
		if m.va >= r.va && m.va < r.va+r.size {
			e.find("hipMemAddressFree: memory is still mapped at 0x%x", m.va)
			return abi.InvalidValue
		}
	}
	delete(e.handles, address)
	delete(e.log, r.va)
	return abi.Success
}

func (e *Emulator) hipMemCreate(out *uintptr, size uintptr, properties *[abi.AllocationPropBytes]byte, flags uint64) abi.Code {
	e.mu.Lock()
	defer e.mu.Unlock()
	word := func(offset int) int32 { return int32(binary.NativeEndian.Uint32(properties[offset:])) }
	d, code := e.device(word(abi.AllocationPropDevice))
	switch {
	case code != abi.Success:
		return code
	case e.config.Runtime.Major() < 6: // another layout
		return abi.InvalidValue
	case word(abi.AllocationPropType) != abi.AllocationPinned || word(abi.AllocationPropKind) != abi.LocationDevice || flags != 0:
		return abi.InvalidValue
	case size == 0 || size%virtualGranularity != 0:
		return abi.InvalidValue
	case int64(size) > d.free():
		return abi.OutOfMemory
	}
	d.created += int64(size)
	*out = e.handle(&virtualMemory{dev: d, size: uint64(size)})
	return abi.Success
}

func (e *Emulator) hipMemRelease(h uintptr) abi.Code {
	e.mu.Lock()
	defer e.mu.Unlock()
	v, ok := lookup[*virtualMemory](e, "hipMemRelease", h)
	if !ok {
		return abi.InvalidHandle
	}
	if v.mapped {
		e.find("hipMemRelease: %d bytes that are mapped", v.size)
		return abi.InvalidValue
	}
	v.dev.created -= int64(v.size)
	delete(e.handles, h)
	return abi.Success
}

func (e *Emulator) hipMemMap(address, size, offset, h uintptr, flags uint64) abi.Code {
	e.mu.Lock()
	defer e.mu.Unlock()
	v, ok := lookup[*virtualMemory](e, "hipMemMap", h)
	if !ok {
		return abi.InvalidHandle
	}
	m := &mapping{va: uint64(address), memory: v}
	inside := false
	for _, x := range e.handles {
		if r, ok := x.(*reservation); ok && r.dev == v.dev && m.va >= r.va && m.end() <= r.va+r.size {
			inside = true
		}
	}
	overlaps := slices.ContainsFunc(v.dev.mapped, func(o *mapping) bool { return m.va < o.end() && o.va < m.end() })
	if !inside || overlaps || v.mapped || offset != 0 || uint64(size) != v.size || flags != 0 {
		e.find("hipMemMap: %d bytes at 0x%x: outside a reserved range, or mapped already", size, address)
		return abi.InvalidValue
	}
	v.mapped = true
	v.dev.mapped = append(v.dev.mapped, m)
	return abi.Success
}

// hipMemSetAccess makes mapped memory accessible. The range has to be mappings
// without gaps.
func (e *Emulator) hipMemSetAccess(address, size uintptr, access *[abi.AccessDescBytes]byte, count uintptr) abi.Code {
	e.mu.Lock()
	defer e.mu.Unlock()
	word := func(offset int) int32 { return int32(binary.NativeEndian.Uint32(access[offset:])) }
	d, code := e.device(word(4))
	if code != abi.Success || count != 1 || word(0) != abi.LocationDevice || word(abi.AccessDescFlags) != abi.AccessReadWrite {
		return abi.InvalidValue
	}
	var found []*mapping
	at, end := uint64(address), uint64(address)+uint64(size)
	for at < end {
		i := slices.IndexFunc(d.mapped, func(m *mapping) bool { return m.va == at && m.end() <= end })
		if i < 0 {
			return abi.InvalidValue
		}
		found = append(found, d.mapped[i])
		at = d.mapped[i].end()
	}
	for _, m := range found {
		if m.accessible {
			continue
		}
		if err := d.mem.AllocAt(m.va, int64(m.memory.size)); err != nil {
			return allocationCode(err)
		}
		d.created -= int64(m.memory.size) // the memory counts it now
		m.accessible = true
	}
	return abi.Success
}

func (e *Emulator) hipMemUnmap(address, size uintptr) abi.Code {
	e.mu.Lock()
	defer e.mu.Unlock()
	d := e.here()
	i := slices.IndexFunc(d.mapped, func(m *mapping) bool { return m.va == uint64(address) && m.memory.size == uint64(size) })
	if i < 0 {
		e.find("hipMemUnmap: nothing of %d bytes is mapped at 0x%x", size, address)
		return abi.InvalidValue
	}
	m := d.mapped[i]
	d.mapped = slices.Delete(d.mapped, i, i+1)
	m.memory.mapped = false
	if m.accessible {
		if err := d.mem.Free(m.va); err != nil {
			e.find("hipMemUnmap: %w", err)
		}
		d.created += int64(m.memory.size)
	}
	return abi.Success
}
