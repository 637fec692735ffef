package hipdyn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"gorun/hipdyn/abi"
)

// Info is what a device is and can do.
type Info struct {
	Index        int    `json:"index"` // in HIP's numbering
	Name         string `json:"name"`  // e.g. AMD Radeon RX 9070 XT
	GFX          string `json:"gfx"`   // instruction set, e.g. gfx1201
	PCI          string `json:"pci"`   // e.g. 0000:03:00.0
	TotalMemory  int64  `json:"total_memory"`
	Integrated   bool   `json:"integrated"` // shares the host's memory
	ComputeUnits int    `json:"compute_units"`
	WaveSize     int    `json:"wave_size"`
	BlockThreads int    `json:"block_threads"` // most work-items of a work-group
	LDS          int    `json:"lds"`           // most bytes of LDS of a work-group
	L2           int    `json:"l2"`            // bytes
	ClockKHz     int    `json:"clock_khz"`
	MemoryKHz    int    `json:"memory_clock_khz"`
	MemoryBits   int    `json:"memory_bus_bits"` // width of the memory's bus
	LargeBAR     bool   `json:"large_bar"`       // the host can address all of its memory
	Virtual      bool   `json:"virtual_memory"`  // says that it has virtual memory management; see TestVirtual
}

// Device is a GPU and the thread that owns it.
type Device struct {
	Info
	lib     *Library
	owner   *owner
	virtual func() error // whether virtual memory management works
}

// newDevice starts the owner of a device and asks what it is.
func (l *Library) newDevice(index int) (*Device, error) {
	d := &Device{Info: Info{Index: index}, lib: l}
	d.virtual = sync.OnceValue(d.testVirtual)
	var err error
	d.owner, err = newOwner(func() error {
		if err := d.check(l.hip.hipSetDevice.call(uintptr(index)), "hipSetDevice"); err != nil {
			return err
		}
		return d.describe()
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Do runs fn on the device's thread. Calls to the device within it are made
// directly, without the cost of handing them over.
func (d *Device) Do(fn func() error) error { return d.owner.do(taskFunc(fn)) }

func (d *Device) check(code abi.Code, call string) error { return d.lib.hip.check(code, call, d.Index) }

// String names the device, "0 (gfx1201, AMD Radeon RX 9070 XT)".
func (d *Device) String() string { return fmt.Sprintf("%d (%s, %s)", d.Index, d.GFX, d.Name) }

// describe fills in Info.
func (d *Device) describe() error {
	hip := d.lib.hip
	var name [256]byte
	if err := d.check(hip.hipDeviceGetName.call(uintptr(unsafe.Pointer(&name)), uintptr(len(name)), uintptr(d.Index)), "hipDeviceGetName"); err != nil {
		return err
	}
	d.Name = text(name[:])
	if err := d.properties(); err != nil {
		return err
	}
	var pci [64]byte
	if code := hip.hipDeviceGetPCIBusId.call(uintptr(unsafe.Pointer(&pci)), uintptr(len(pci)), uintptr(d.Index)); code == abi.Success {
		d.PCI = strings.ToLower(text(pci[:]))
	}
	number := func(a abi.Attribute) int {
		var v int32 // stays zero for what the release does not know
		hip.hipDeviceGetAttribute.call(uintptr(unsafe.Pointer(&v)), uintptr(a), uintptr(d.Index))
		return int(v)
	}
	d.ComputeUnits = number(abi.AttributeMultiprocessorCount)
	d.WaveSize = number(abi.AttributeWarpSize)
	d.BlockThreads = number(abi.AttributeMaxThreadsPerBlock)
	d.LDS = number(abi.AttributeMaxSharedMemory)
	d.L2 = number(abi.AttributeL2CacheSize)
	d.ClockKHz = number(abi.AttributeClockRate)
	d.MemoryKHz = number(abi.AttributeMemoryClockRate)
	d.MemoryBits = number(abi.AttributeMemoryBusWidth)
	d.Integrated = d.Integrated || number(abi.AttributeIntegrated) == 1
	d.LargeBAR = number(abi.AttributeLargeBAR) == 1
	d.Virtual = number(abi.AttributeVirtualMemory) == 1
	return nil
}

// properties reads what no attribute tells from hipDeviceProp_t. The name
// without a suffix means the old layout, even in some later releases.
func (d *Device) properties() error {
	hip := d.lib.hip
	variants := []struct {
		call   proc
		name   string
		layout abi.Properties
	}{
		{hip.hipGetDevicePropertiesR0600, "hipGetDevicePropertiesR0600", abi.PropertiesR0600},
		{hip.hipGetDevicePropertiesR0000, "hipGetDevicePropertiesR0000", abi.PropertiesR0000},
		{hip.hipGetDeviceProperties, "hipGetDeviceProperties", abi.PropertiesR0000},
	}
	for _, v := range variants {
		if v.call == 0 {
			continue
		}
		if v.call == hip.hipGetDeviceProperties && d.lib.Runtime.Major() >= 6 {
			break
		}
		raw := new([4096]byte) // more than any release writes
		if err := d.check(v.call.call(uintptr(unsafe.Pointer(raw)), uintptr(d.Index)), v.name); err != nil {
			return err
		}
		number := func(offset int) int32 { return int32(binary.NativeEndian.Uint32(raw[offset:])) }
		gfx, _, _ := bytes.Cut([]byte(text(raw[v.layout.Arch:][:256])), []byte(":"))
		d.GFX = string(gfx)
		d.TotalMemory = int64(binary.NativeEndian.Uint64(raw[v.layout.TotalMemory:]))
		d.Integrated = number(v.layout.Integrated) == 1
		d.PCI = fmt.Sprintf("%04x:%02x:%02x.0", number(v.layout.PCIDomain), number(v.layout.PCIBus), number(v.layout.PCIDev))
		return nil
	}
	return fmt.Errorf("%s: runtime %v has no hipGetDeviceProperties with a known layout", d.lib.Source, d.lib.Runtime)
}

// text is a C string in a buffer.
func text(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}

// Memory tells the free and the total bytes as HIP sees them. On an integrated
// GPU releases differ in what they count; see Unified.
func (d *Device) Memory() (free, total int64, err error) {
	var f, t uint64
	err = d.Do(func() error {
		return d.check(d.lib.hip.hipMemGetInfo.call(uintptr(unsafe.Pointer(&f)), uintptr(unsafe.Pointer(&t))), "hipMemGetInfo")
	})
	return int64(f), int64(t), err
}

// Synchronize waits for all work on all streams of the device.
func (d *Device) Synchronize() error {
	return d.Do(func() error { return d.check(d.lib.hip.hipDeviceSynchronize.call(), "hipDeviceSynchronize") })
}

// create calls a function that makes a handle.
func (d *Device) create(call string, fn func(handle *uintptr) abi.Code) (uintptr, error) {
	handle := new(uintptr)
	err := d.Do(func() error {
		if err := d.check(fn(handle), call); err != nil {
			return err
		}
		if *handle == 0 {
			return &Error{call, abi.Unknown, "it succeeded, and gave a null handle", d.Index}
		}
		return nil
	})
	runtime.KeepAlive(handle)
	return *handle, err
}

// errFreed is the error of using what has been freed.
var errFreed = errors.New("it has been freed")
