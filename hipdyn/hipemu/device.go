package hipemu

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"gorun/hipdyn/abi"
)

func (e *Emulator) hipInit(flags uint32) abi.Code {
	if len(e.devices) == 0 {
		return abi.InvalidDevice // as the library does without /dev/kfd
	}
	return abi.Success
}

func (e *Emulator) hipGetDeviceCount(n *int32) abi.Code {
	*n = int32(len(e.devices))
	if *n == 0 {
		return abi.NoDevice
	}
	return abi.Success
}

func (e *Emulator) hipRuntimeGetVersion(v *int32) abi.Code {
	*v = int32(e.config.Runtime)
	return abi.Success
}

// hipGetErrorString says more than HIP does about an error that work has left.
func (e *Emulator) hipGetErrorString(code abi.Code) uintptr {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := code.Name()
	if len(e.devices) > 0 {
		if d := e.here(); d.fault != nil && d.code() == code {
			text = d.fault.Error()
		}
	}
	c, ok := e.strings[text]
	if !ok {
		c = append([]byte(text), 0)
		e.strings[text] = c
	}
	return uintptr(unsafe.Pointer(&c[0]))
}

// device finds a device. e.mu need not be held: the list does not change.
func (e *Emulator) device(i int32) (*device, abi.Code) {
	if i < 0 || int(i) >= len(e.devices) {
		return nil, abi.InvalidDevice
	}
	return e.devices[i], abi.Success
}

func (e *Emulator) hipSetDevice(i int32) abi.Code {
	_, code := e.device(i)
	if code == abi.Success {
		e.mu.Lock()
		e.current[threadID()] = int(i)
		e.mu.Unlock()
	}
	return code
}

// The limits of the emulated devices.
const (
	mostThreads = 1024
	mostLDS     = 64 << 10
)

func (e *Emulator) hipDeviceGetAttribute(v *int32, a abi.Attribute, i int32) abi.Code {
	d, code := e.device(i)
	if code != abi.Success {
		return code
	}
	switch a {
	case abi.AttributeIntegrated:
		*v = number(d.Integrated)
	case abi.AttributeMaxThreadsPerBlock:
		*v = mostThreads
	case abi.AttributeMaxSharedMemory:
		*v = mostLDS
	case abi.AttributeWarpSize:
		*v = 32
	case abi.AttributeMultiprocessorCount:
		*v = 32
	case abi.AttributeVirtualMemory, abi.AttributeLargeBAR:
		*v = 1
	case abi.AttributeL2CacheSize, abi.AttributeClockRate, abi.AttributeMemoryBusWidth, abi.AttributeMemoryClockRate:
		*v = 0 // there is no such thing
	default:
		return abi.InvalidValue
	}
	return abi.Success
}

func number(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// putText writes a C string of at most n bytes.
func putText(to *byte, n int32, text string) abi.Code {
	if n <= 0 {
		return abi.InvalidValue
	}
	b := unsafe.Slice(to, n)
	b[copy(b[:n-1], text)] = 0
	return abi.Success
}

func (e *Emulator) hipDeviceGetName(to *byte, n, i int32) abi.Code {
	d, code := e.device(i)
	if code != abi.Success {
		return code
	}
	return putText(to, n, d.Name)
}

// bus is the number of a device's PCI bus.
func (d *device) bus() int { return d.index + 3 }

func (e *Emulator) hipDeviceGetPCIBusId(to *byte, n, i int32) abi.Code {
	d, code := e.device(i)
	if code != abi.Success {
		return code
	}
	return putText(to, n, fmt.Sprintf("0000:%02x:00.0", d.bus()))
}

func (e *Emulator) hipGetDevicePropertiesR0000(to *byte, i int32) abi.Code {
	return e.properties(to, i, abi.PropertiesR0000)
}

func (e *Emulator) hipGetDevicePropertiesR0600(to *byte, i int32) abi.Code {
	return e.properties(to, i, abi.PropertiesR0600)
}

func (e *Emulator) properties(to *byte, i int32, layout abi.Properties) abi.Code {
	d, code := e.device(i)
	if code != abi.Success {
		return code
	}
	p := unsafe.Slice(to, layout.Size)
	clear(p)
	binary.NativeEndian.PutUint64(p[layout.TotalMemory:], uint64(d.Memory))
	binary.NativeEndian.PutUint32(p[layout.Integrated:], uint32(number(d.Integrated)))
	binary.NativeEndian.PutUint32(p[layout.PCIBus:], uint32(d.bus()))
	// As on devices that have these features.
	copy(p[layout.Arch:], d.GFX+":sramecc-:xnack-\x00")
	return abi.Success
}

func (e *Emulator) hipMemGetInfo(free, total *uint64) abi.Code {
	e.mu.Lock()
	defer e.mu.Unlock()
	d := e.here()
	*free, *total = uint64(d.free()), uint64(d.Memory)
	return abi.Success
}

func (d *device) free() int64 { return max(0, d.Memory-d.mem.Used()-d.created) }

func (e *Emulator) hipDeviceCanAccessPeer(can *int32, i, peer int32) abi.Code {
	a, code := e.device(i)
	if code != abi.Success {
		return code
	}
	b, code := e.device(peer)
	if code != abi.Success {
		return code
	}
	*can = number(a.reaches(b))
	return abi.Success
}

// reaches tells whether two devices are of one generation and both have memory
// of their own.
func (d *device) reaches(peer *device) bool {
	return d != peer && d.GFX[:5] == peer.GFX[:5] && !d.Integrated && !peer.Integrated
}

func (e *Emulator) hipDeviceEnablePeerAccess(peer int32, flags uint32) abi.Code {
	p, code := e.device(peer)
	if code != abi.Success {
		return code
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	d := e.here()
	switch {
	case flags != 0:
		return abi.InvalidValue
	case !d.reaches(p):
		e.find("hipDeviceEnablePeerAccess: device %d cannot reach device %d", d.index, p.index)
		return abi.InvalidDevice
	case d.peers[p.index]:
		return abi.PeerAccessAlreadyEnabled
	}
	d.peers[p.index] = true
	d.mem.AttachPeer(p.mem)
	return abi.Success
}
