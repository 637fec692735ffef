package hipdyn

import (
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
	if len(object) == 0 {
		return nil, errors.New("hipdyn: the code object is empty")
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
