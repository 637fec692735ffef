// Package rdna executes the machine code of AMD's RDNA GPUs: gfx1030, gfx1100,
// gfx1151 and gfx1201, waves of 32 lanes, no graphics. It is for tests of
// kernels without a GPU, and therefore checks what hardware does not:
//
//   - an access outside its allocation, or to a freed one, is a fault;
//   - reading memory or LDS that was never written is reported;
//   - so is an LDS access of two waves between two barriers of which one
//     writes;
//   - registers hold poison until they are written, and a register above the
//     number that the metadata gives is an error;
//   - an instruction that is not implemented is an error that shows it.
//
// Counters say what a launch cost: instructions by class, memory segments,
// LDS bank conflicts.
//
// Package hsaco reads code objects, package isa decodes instructions; this
// package executes them.
package rdna

import (
	"fmt"
	"sync"

	"gorun/hipdyn/hipemu/rdna/hsaco"
)

// Module is a code object.
type Module struct {
	Target  string // e.g. gfx1201
	object  *hsaco.Object
	kernels map[string]*Kernel

	once       sync.Once
	code       *program
	programErr error
}

// Kernel is a kernel of a module.
type Kernel struct {
	*hsaco.Kernel
	Module *Module
}

// Load reads a code object (HSACO).
func Load(object []byte) (*Module, error) {
	o, err := hsaco.Parse(object)
	if err != nil {
		return nil, err
	}
	m := &Module{Target: o.Target, object: o, kernels: map[string]*Kernel{}}
	for _, k := range o.Kernels {
		m.kernels[k.Name] = &Kernel{Kernel: k, Module: m}
	}
	return m, nil
}

// Kernels lists the kernels by name.
func (m *Module) Kernels() []*Kernel {
	var list []*Kernel
	for _, k := range m.object.Kernels {
		list = append(list, m.kernels[k.Name])
	}
	return list
}

// Kernel finds a kernel.
func (m *Module) Kernel(name string) (*Kernel, error) {
	if k := m.kernels[name]; k != nil {
		return k, nil
	}
	return nil, fmt.Errorf("no kernel %q in the module for %s, which has %d others", name, m.Target, len(m.kernels))
}

// Global finds a variable: where it is in mem, and its bytes.
func (m *Module) Global(mem *Memory, name string) (va uint64, size int64, err error) {
	for _, s := range m.object.Symbols {
		if s.Name == name {
			return mem.image(m).va + s.Addr, int64(s.Size), nil
		}
	}
	return 0, 0, fmt.Errorf("no variable %q in the module for %s", name, m.Target)
}
