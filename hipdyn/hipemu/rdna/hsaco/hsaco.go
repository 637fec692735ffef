// Package hsaco reads AMD code objects: what a HIP compiler makes for a GPU.
//
// A code object (version 5) is an ELF64 shared object of machine EM_AMDGPU:
//
//	e_flags          the instruction set, e.g. 0x4e for gfx1201
//	PT_LOAD          the image: constants, code, variables
//	.dynsym          NAME.kd, the descriptor of kernel NAME; global variables
//	.note            type 32 (NT_AMDGPU_METADATA): MessagePack, a map with
//	                 amdhsa.target and amdhsa.kernels (arguments, registers)
//	.rela.dyn        pointers within the image
//
// A kernel descriptor is 64 bytes: sizes of LDS, scratch and arguments, where
// the code begins, and which registers hold what at its first instruction.
//
// Source: LLVM, "User Guide for AMDGPU Backend". Every offset and length is
// checked before use.
package hsaco

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
	"strings"
)

// MaxImage bounds the bytes that the image of an object may take in memory.
const MaxImage = 1 << 30

// maxObject bounds the bytes of a file.
const maxObject = 1 << 29

const (
	machineAMDGPU = 224
	osabiHSA      = 0x40
	noteMetadata  = 32
)

// targets are the instruction sets by the low byte of e_flags.
var targets = map[uint32]string{0x36: "gfx1030", 0x41: "gfx1100", 0x4a: "gfx1151", 0x4e: "gfx1201"}

// Object is a code object.
type Object struct {
	Target  string // gfx1030, ...
	Image   []byte // as loaded at address 0, before relocation
	Text    []Range
	Kernels []*Kernel // by name
	Symbols []Symbol  // of variables, by name
	Relocs  []Reloc   // to be applied for a base other than 0
}

// Range is a part of an image.
type Range struct{ Addr, Size uint64 }

// Symbol is a global variable.
type Symbol struct {
	Name       string
	Addr, Size uint64
}

// Reloc says that the 64-bit word at Addr is the base plus Value.
type Reloc struct{ Addr, Value uint64 }

// Kernel is what is known about a kernel.
type Kernel struct {
	Name   string
	Symbol string // of the descriptor
	Args   []Arg

	KernargSize  int // bytes of arguments
	KernargAlign int
	LDS          int // bytes of fixed LDS of a work-group
	Scratch      int // bytes of private memory of a work-item
	VGPRs, SGPRs int // registers in use
	VGPRSpills   int
	SGPRSpills   int
	WaveSize     int
	MaxWorkgroup int  // work-items
	DynamicStack bool // the scratch size is not known to the compiler
	Required     [3]int

	Entry uint64 // address of the first instruction
	Size  uint64 // bytes of code, zero if unknown
	Descriptor
}

// Arg is an argument of a kernel.
type Arg struct {
	Name         string
	Offset, Size int
	Kind         string // by_value, global_buffer, dynamic_shared_pointer, hidden_...
	AddressSpace string
}

// Hidden says that the runtime has to supply the argument.
func (a Arg) Hidden() bool { return strings.HasPrefix(a.Kind, "hidden_") }

// Hidden lists the arguments that the runtime has to supply.
func (k *Kernel) Hidden() []Arg {
	var h []Arg
	for _, a := range k.Args {
		if a.Hidden() {
			h = append(h, a)
		}
	}
	return h
}

// Descriptor is the kernel descriptor.
type Descriptor struct {
	Rsrc1, Rsrc2, Rsrc3 uint32
	Properties          uint16
	Preload             uint16
}

// Bits of Properties.
const (
	PrivateSegmentBuffer = 1 << iota
	DispatchPtr
	QueuePtr
	KernargPtr
	DispatchID
	FlatScratchInit
	PrivateSegmentSize
	wave32 = 1 << 10
)

// UserSGPRs is the number of scalar registers that the launch fills.
func (d Descriptor) UserSGPRs() int { return int(d.Rsrc2 >> 1 & 31) }

// GroupID says whether register(s) hold the work-group's number along an axis.
func (d Descriptor) GroupID(axis int) bool { return d.Rsrc2>>(7+axis)&1 != 0 }

// GroupInfo says whether a register holds information on the work-group.
func (d Descriptor) GroupInfo() bool { return d.Rsrc2>>10&1 != 0 }

// ItemIDs is the number of axes of the work-item's number, less one.
func (d Descriptor) ItemIDs() int { return int(d.Rsrc2 >> 11 & 3) }

// ScratchOffset says whether a register holds the wave's scratch offset.
func (d Descriptor) ScratchOffset() bool { return d.Rsrc2&1 != 0 }

// AllocatedVGPRs is the number of vector registers of a wave32.
func (d Descriptor) AllocatedVGPRs() int { return int(d.Rsrc1&63+1) * 8 }

// FloatMode is the initial MODE register: rounding in bits 0 to 3, denormals
// in bits 4 to 7.
func (d Descriptor) FloatMode() uint8 { return uint8(d.Rsrc1 >> 12) }

// Parse reads an object.
func Parse(object []byte) (*Object, error) {
	if len(object) > maxObject {
		return nil, fmt.Errorf("code object of %d bytes: at most %d are supported", len(object), maxObject)
	}
	if bytes.HasPrefix(object, []byte("__CLANG_OFFLOAD_BUNDLE__")) {
		return nil, errors.New("code object is an offload bundle: compile with --no-gpu-bundle-output")
	}
	if len(object) < 64 || !bytes.HasPrefix(object, []byte(elf.ELFMAG)) {
		return nil, fmt.Errorf("code object of %d bytes is not an ELF file", len(object))
	}
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		return nil, fmt.Errorf("code object: %w", err)
	}
	defer f.Close()
	if f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB || f.Machine != machineAMDGPU || f.OSABI != osabiHSA {
		return nil, fmt.Errorf("code object is for machine %d, ABI %d: need 64-bit little-endian AMDGPU (%d) for HSA (%d)", f.Machine, f.OSABI, machineAMDGPU, osabiHSA)
	}
	if f.ABIVersion != 3 {
		return nil, fmt.Errorf("code object has ABI version %d: only 3 (code object version 5) is supported", f.ABIVersion)
	}
	flags := binary.LittleEndian.Uint32(object[48:])
	target, ok := targets[flags&0xff]
	if !ok {
		return nil, fmt.Errorf("code object is for an instruction set 0x%x that is not supported (gfx1030, gfx1100, gfx1151, gfx1201 are)", flags&0xff)
	}
	o := &Object{Target: target}
	if err := o.load(f); err != nil {
		return nil, fmt.Errorf("code object for %s: %w", target, err)
	}
	return o, nil
}

func (o *Object) load(f *elf.File) error {
	var end uint64
	for i, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		if p.Vaddr > MaxImage || p.Memsz > MaxImage || p.Filesz > p.Memsz {
			return fmt.Errorf("segment %d of %d bytes at address 0x%x: out of range", i, p.Memsz, p.Vaddr)
		}
		end = max(end, p.Vaddr+p.Memsz)
	}
	if end == 0 || end > MaxImage {
		return fmt.Errorf("image of %d bytes: need 1 to %d", end, MaxImage)
	}
	o.Image = make([]byte, end)
	for i, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		if _, err := p.ReadAt(o.Image[p.Vaddr:p.Vaddr+p.Filesz], 0); err != nil && p.Filesz > 0 {
			return fmt.Errorf("segment %d: %w", i, err)
		}
		if p.Flags&elf.PF_X != 0 {
			o.Text = append(o.Text, Range{p.Vaddr, p.Memsz})
		}
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return fmt.Errorf("dynamic symbols: %w", err)
	}
	byName := make(map[string]elf.Symbol, len(symbols))
	for _, s := range symbols {
		byName[s.Name] = s
		if elf.ST_TYPE(s.Info) == elf.STT_OBJECT && s.Section != elf.SHN_UNDEF && !strings.HasSuffix(s.Name, ".kd") {
			if s.Value > end || s.Size > end-s.Value {
				return fmt.Errorf("variable %s of %d bytes at 0x%x is outside the image of %d bytes", s.Name, s.Size, s.Value, end)
			}
			o.Symbols = append(o.Symbols, Symbol{s.Name, s.Value, s.Size})
		}
	}
	sort.Slice(o.Symbols, func(i, j int) bool { return o.Symbols[i].Name < o.Symbols[j].Name })
	if err := o.relocations(f, symbols); err != nil {
		return err
	}
	note, err := metadataNote(f)
	if err != nil {
		return err
	}
	meta, err := unpack(note)
	if err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	return o.metadata(meta, byName)
}

const (
	relocABS64      = 3
	relocRELATIVE64 = 13
)

func (o *Object) relocations(f *elf.File, symbols []elf.Symbol) error {
	for _, s := range f.Sections {
		if s.Type != elf.SHT_RELA {
			continue
		}
		if s.Size > maxObject {
			return fmt.Errorf("section %s of %d bytes", s.Name, s.Size)
		}
		data, err := s.Data()
		if err != nil {
			return fmt.Errorf("section %s: %w", s.Name, err)
		}
		for ; len(data) >= 24; data = data[24:] {
			addr := binary.LittleEndian.Uint64(data)
			info := binary.LittleEndian.Uint64(data[8:])
			value := binary.LittleEndian.Uint64(data[16:])
			switch uint32(info) {
			case relocRELATIVE64:
			case relocABS64:
				i := info >> 32
				if i == 0 || i > uint64(len(symbols)) || symbols[i-1].Section == elf.SHN_UNDEF {
					return fmt.Errorf("relocation at 0x%x needs symbol %d, which is not defined here", addr, i)
				}
				value += symbols[i-1].Value
			default:
				return fmt.Errorf("relocation at 0x%x of type %d is not supported", addr, uint32(info))
			}
			if n := uint64(len(o.Image)); addr > n || n-addr < 8 {
				return fmt.Errorf("relocation at 0x%x is outside the image of %d bytes", addr, n)
			}
			o.Relocs = append(o.Relocs, Reloc{addr, value})
		}
	}
	return nil
}

// metadataNote finds the MessagePack document.
func metadataNote(f *elf.File) ([]byte, error) {
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NOTE || s.Size > maxObject {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return nil, fmt.Errorf("section %s: %w", s.Name, err)
		}
		for len(data) >= 12 {
			name := uint64(binary.LittleEndian.Uint32(data))
			desc := uint64(binary.LittleEndian.Uint32(data[4:]))
			typ := binary.LittleEndian.Uint32(data[8:])
			data = data[12:]
			up := func(n uint64) uint64 { return (n + 3) &^ 3 }
			if up(name) > uint64(len(data)) || desc > uint64(len(data))-up(name) {
				return nil, fmt.Errorf("note in section %s ends early", s.Name)
			}
			if typ == noteMetadata && string(bytes.TrimRight(data[:name], "\x00")) == "AMDGPU" {
				return data[up(name) : up(name)+desc], nil
			}
			data = data[min(up(name)+up(desc), uint64(len(data))):]
		}
	}
	return nil, errors.New("no metadata note")
}

func (o *Object) metadata(meta any, symbols map[string]elf.Symbol) error {
	m, ok := meta.(map[string]any)
	if !ok {
		return errors.New("metadata is not a map")
	}
	if t, _ := m["amdhsa.target"].(string); t != "" && t != "amdgcn-amd-amdhsa--"+o.Target {
		return fmt.Errorf("metadata is for %q", t)
	}
	list, ok := m["amdhsa.kernels"].([]any)
	if !ok {
		return errors.New("metadata lists no kernels")
	}
	for i, e := range list {
		km, ok := e.(map[string]any)
		if !ok {
			return fmt.Errorf("metadata of kernel %d is not a map", i)
		}
		k, err := kernel(fields(km))
		if err == nil {
			err = o.describe(k, symbols)
		}
		if err != nil {
			return fmt.Errorf("kernel %d %q: %w", i, k.Name, err)
		}
		o.Kernels = append(o.Kernels, k)
	}
	sort.Slice(o.Kernels, func(i, j int) bool { return o.Kernels[i].Name < o.Kernels[j].Name })
	return nil
}

// fields reads values of a metadata map.
type fields map[string]any

func (f fields) text(key string) string { s, _ := f[key].(string); return s }

func (f fields) number(key string, limit uint64, err *error) int {
	switch v := f[key].(type) {
	case nil:
		return 0
	case uint64:
		if v <= limit {
			return int(v)
		}
		*err = errors.Join(*err, fmt.Errorf("%s is %d, more than %d", key, v, limit))
	case int64: // always negative
		*err = errors.Join(*err, fmt.Errorf("%s is %d", key, v))
	default:
		*err = errors.Join(*err, fmt.Errorf("%s is not a number", key))
	}
	return 0
}

func (f fields) flag(key string) bool { b, _ := f[key].(bool); return b }

func kernel(f fields) (*Kernel, error) {
	var err error
	k := &Kernel{
		Name: f.text(".name"), Symbol: f.text(".symbol"),
		KernargSize:  f.number(".kernarg_segment_size", 1<<16, &err),
		KernargAlign: f.number(".kernarg_segment_align", 1<<12, &err),
		LDS:          f.number(".group_segment_fixed_size", 1<<16, &err),
		Scratch:      f.number(".private_segment_fixed_size", 1<<18, &err),
		VGPRs:        f.number(".vgpr_count", 256, &err),
		SGPRs:        f.number(".sgpr_count", 128, &err),
		VGPRSpills:   f.number(".vgpr_spill_count", 1<<20, &err),
		SGPRSpills:   f.number(".sgpr_spill_count", 1<<20, &err),
		WaveSize:     f.number(".wavefront_size", 64, &err),
		MaxWorkgroup: f.number(".max_flat_workgroup_size", 1024, &err),
		DynamicStack: f.flag(".uses_dynamic_stack"),
	}
	if r, ok := f[".reqd_workgroup_size"].([]any); ok && len(r) == 3 {
		for i, v := range r {
			if n, ok := v.(uint64); ok && n <= 1024 {
				k.Required[i] = int(n)
			}
		}
	}
	args, _ := f[".args"].([]any)
	for i, a := range args {
		am, ok := a.(map[string]any)
		if !ok {
			return k, fmt.Errorf("argument %d is not a map", i)
		}
		af := fields(am)
		arg := Arg{
			Name: af.text(".name"), Kind: af.text(".value_kind"), AddressSpace: af.text(".address_space"),
			Offset: af.number(".offset", 1<<16, &err), Size: af.number(".size", 1<<16, &err),
		}
		if arg.Offset+arg.Size > k.KernargSize {
			err = errors.Join(err, fmt.Errorf("argument %d ends at byte %d of %d", i, arg.Offset+arg.Size, k.KernargSize))
		}
		k.Args = append(k.Args, arg)
	}
	if k.Name == "" || k.Symbol == "" {
		err = errors.Join(err, errors.New("no name or no symbol"))
	}
	return k, err
}

const descriptorSize = 64

// describe reads the descriptor of a kernel.
func (o *Object) describe(k *Kernel, symbols map[string]elf.Symbol) error {
	s, ok := symbols[k.Symbol]
	if !ok {
		return fmt.Errorf("no symbol %s", k.Symbol)
	}
	n := uint64(len(o.Image))
	if s.Value > n || n-s.Value < descriptorSize {
		return fmt.Errorf("descriptor at 0x%x is outside the image of %d bytes", s.Value, n)
	}
	d := o.Image[s.Value : s.Value+descriptorSize]
	u32 := func(i int) uint32 { return binary.LittleEndian.Uint32(d[i:]) }
	k.Descriptor = Descriptor{
		Rsrc3: u32(44), Rsrc1: u32(48), Rsrc2: u32(52),
		Properties: binary.LittleEndian.Uint16(d[56:]), Preload: binary.LittleEndian.Uint16(d[58:]),
	}
	k.Entry = s.Value + binary.LittleEndian.Uint64(d[16:])
	in := false
	for _, t := range o.Text {
		in = in || k.Entry >= t.Addr && k.Entry-t.Addr < t.Size
	}
	if !in || k.Entry%4 != 0 {
		return fmt.Errorf("its code begins at 0x%x, which is no address of code", k.Entry)
	}
	if c, ok := symbols[k.Name]; ok && c.Value == k.Entry && c.Size <= n-k.Entry {
		k.Size = c.Size
	}
	if u32(0) != uint32(k.LDS) || u32(4) != uint32(k.Scratch) {
		return fmt.Errorf("descriptor (LDS %d, scratch %d) and metadata (LDS %d, scratch %d) disagree", u32(0), u32(4), k.LDS, k.Scratch)
	}
	if k.WaveSize == 0 {
		k.WaveSize = 64
		if k.Properties&wave32 != 0 {
			k.WaveSize = 32
		}
	}
	return nil
}
