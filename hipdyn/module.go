package hipdyn

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"gorun/hipdyn/abi"
	"gorun/internal/arena"
)

// Module is a code object loaded on a device.
type Module struct {
	dev    *Device
	handle uintptr
	image  *arena.Arena
}

// LoadModule loads a code object (an ELF file for the device's instruction set).
func (d *Device) LoadModule(object []byte) (*Module, error) {
	if err := checkObject(object); err != nil {
		return nil, fmt.Errorf("hipdyn: code object for %s: %w", d.GFX, err)
	}
	image, err := arena.New(int64(len(object)))
	if err != nil {
		return nil, err
	}
	copy(image.Bytes(), object)
	h, err := d.create("hipModuleLoadData", func(h *uintptr) abi.Code {
		return d.lib.hip.hipModuleLoadData.call(uintptr(unsafe.Pointer(h)), uintptr(unsafe.Pointer(&image.Bytes()[0])))
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("code object of %d bytes for %s: %w", len(object), d.GFX, err), image.Free())
	}
	return &Module{d, h, image}, nil
}

// checkObject makes sure that a file is as long as its header says: HIP is not
// told the length.
func checkObject(object []byte) error {
	const headerBytes, machineAMDGPU = 64, 224
	if len(object) < headerBytes || string(object[:4]) != elf.ELFMAG || object[elf.EI_CLASS] != byte(elf.ELFCLASS64) {
		return fmt.Errorf("%d bytes that are no 64-bit ELF file", len(object))
	}
	le := binary.LittleEndian
	if m := le.Uint16(object[18:]); m != machineAMDGPU {
		return fmt.Errorf("an ELF file for machine %d, not for an AMD GPU (%d)", m, machineAMDGPU)
	}
	for _, table := range []struct {
		name                string
		offset, size, count int
	}{{"program headers", 32, 54, 56}, {"section headers", 40, 58, 60}} {
		at, size := le.Uint64(object[table.offset:]), uint64(le.Uint16(object[table.size:]))*uint64(le.Uint16(object[table.count:]))
		if n := uint64(len(object)); at > n || size > n-at {
			return fmt.Errorf("cut off: %d bytes, with %s at %d", n, table.name, at)
		}
	}
	return nil
}

// Unload waits for the device and unloads the module; its functions end.
func (m *Module) Unload() error {
	if m.handle == 0 {
		return nil
	}
	err := m.dev.Do(func() error {
		if err := m.dev.check(m.dev.lib.hip.hipDeviceSynchronize.call(), "hipDeviceSynchronize"); err != nil {
			return err
		}
		return m.dev.check(m.dev.lib.hip.hipModuleUnload.call(m.handle), "hipModuleUnload")
	})
	m.handle = 0
	return errors.Join(err, m.image.Free())
}

// Function is a kernel.
type Function struct {
	Name   string
	module *Module
	handle uintptr
}

// Function finds a kernel by the name in the code object.
func (m *Module) Function(name string) (*Function, error) {
	if m.handle == 0 {
		return nil, fmt.Errorf("hipdyn: kernel %s of a module that is unloaded", name)
	}
	c := append([]byte(name), 0)
	h, err := m.dev.create("hipModuleGetFunction", func(h *uintptr) abi.Code {
		return m.dev.lib.hip.hipModuleGetFunction.call(uintptr(unsafe.Pointer(h)), m.handle, uintptr(unsafe.Pointer(&c[0])))
	})
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", name, err)
	}
	return &Function{name, m, h}, nil
}
