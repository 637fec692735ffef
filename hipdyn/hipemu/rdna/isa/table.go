// Package isa decodes the instructions of RDNA GPUs and prints them as LLVM
// does. It knows gfx1030 (RDNA2), gfx1100 and gfx1151 (RDNA3, 3.5) and gfx1201
// (RDNA4).
//
// Which opcodes exist, what they are called and which operands they have is in
// tables.txt, made by _gen from the answers of llvm-mc-19. The layout of the
// encodings is in decode.go. Sources for it: AMD's ISA documents of RDNA2,
// RDNA3 and RDNA4, and the answers of llvm-mc-19.
package isa

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

//go:generate go -C _gen run . -out ../tables.txt

// Encoding is a layout of instruction words.
type Encoding uint8

// The encodings. DPPn and SDWAn are VOPn with a second word of that kind.
const (
	SOP1 Encoding = iota
	SOP2
	SOPK
	SOPC
	SOPP
	SMEM
	VOP1
	VOP2
	VOPC
	VOP3
	VOP3P
	VOPDX
	VOPDY
	DPP1
	DPP2
	DPPC
	DPP3
	DPP3P
	SDWA1
	SDWA2
	SDWAC
	DS
	FLAT
	SCRATCH
	GLOBAL
	MUBUF
	encodings
)

var encodingNames = [encodings]string{
	"SOP1", "SOP2", "SOPK", "SOPC", "SOPP", "SMEM", "VOP1", "VOP2", "VOPC", "VOP3", "VOP3P", "VOPDX", "VOPDY",
	"DPP1", "DPP2", "DPPC", "DPP3", "DPP3P", "SDWA1", "SDWA2", "SDWAC", "DS", "FLAT", "SCRATCH", "GLOBAL", "MUBUF",
}

func (e Encoding) String() string { return encodingNames[e] }

// Operand is an operand of an instruction, in the order of the text.
type Operand struct {
	// Field says where it is: d destination, e second destination, 0 to 2
	// sources. In memory instructions 0 is the address, 1 the data (gfx10 and
	// gfx11 buffers: d), 2 the second data or scalar offset. Zero is fixed Text.
	Field  byte
	Scalar bool  // a scalar register
	Width  uint8 // registers
	Kind   byte  // how immediates are meant: h f16, i 16 bits, b bf16, t half register, 0 the rest
	Mods   byte  // m negation and absolute value, g negation, a absolute value, s sign extension
	Text   string
}

// Op is an opcode of an encoding.
type Op struct {
	Encoding Encoding
	Code     uint16
	Name     string // as LLVM prints it
	Base     string // without a suffix for the encoding
	Operands []Operand
	Flags    string
}

// Has tells whether a flag is set: c clamp, o output modifier, p op_sel, q
// op_sel_hi, l neg_lo, h neg_hi, 2 two offsets, g can use GDS, k index key, r
// can return what was there.
func (o *Op) Has(flag byte) bool { return strings.IndexByte(o.Flags, flag) >= 0 }

// number is what stands behind a flag.
func (o *Op) number(flag byte) int {
	if i := strings.IndexByte(o.Flags, flag); i >= 0 && i+1 < len(o.Flags) {
		return int(o.Flags[i+1] - '0')
	}
	return 0
}

// Set is the instruction set of a target.
type Set struct {
	Target     string
	Generation int // 10, 11, 12
	ops        [encodings][]*Op
}

// Targets are the targets that have a Set.
var Targets = []string{"gfx1030", "gfx1100", "gfx1151", "gfx1201"}

//go:embed tables.txt
var tables string

var sets = sync.OnceValue(func() map[string]*Set {
	m := map[string]*Set{}
	for _, t := range Targets {
		gen, _ := strconv.Atoi(t[3:5])
		m[t] = &Set{Target: t, Generation: gen}
	}
	for n, line := range strings.Split(tables, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		op, mask, err := parseLine(line)
		if err != nil {
			panic(fmt.Sprintf("isa: tables.txt:%d: %v", n+1, err)) // the table is part of the program
		}
		for i, t := range Targets {
			if mask>>i&1 != 0 {
				s := &m[t].ops[op.Encoding]
				for len(*s) <= int(op.Code) {
					*s = append(*s, nil)
				}
				(*s)[op.Code] = op
			}
		}
	}
	return m
})

// For finds the instruction set of a target.
func For(target string) (*Set, error) {
	if s := sets()[target]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("no instruction set for %q: there are %s", target, strings.Join(Targets, ", "))
}

// Ops lists all opcodes of a set.
func (s *Set) Ops() []*Op {
	var list []*Op
	for _, e := range s.ops {
		for _, o := range e {
			if o != nil {
				list = append(list, o)
			}
		}
	}
	return list
}

func (s *Set) op(e Encoding, code uint32) *Op {
	if l := s.ops[e]; int(code) < len(l) {
		return l[code]
	}
	return nil
}

// parseLine reads "ENCODING OPCODE NAME OPERANDS FLAGS TARGETS".
func parseLine(line string) (*Op, uint64, error) {
	f := strings.Fields(line)
	if len(f) != 6 {
		return nil, 0, fmt.Errorf("%d columns", len(f))
	}
	op := &Op{Name: f[2], Base: base(f[2]), Encoding: encodings}
	for e, n := range encodingNames {
		if n == f[0] {
			op.Encoding = Encoding(e)
		}
	}
	if op.Encoding == encodings {
		return nil, 0, fmt.Errorf("encoding %q", f[0])
	}
	code, err := strconv.ParseUint(f[1], 16, 10)
	if err != nil {
		return nil, 0, err
	}
	op.Code = uint16(code)
	if f[3] != "-" {
		for _, s := range strings.Split(f[3], ",") {
			op.Operands = append(op.Operands, parseOperand(s))
		}
	}
	if f[4] != "-" {
		op.Flags = f[4]
	}
	mask, err := strconv.ParseUint(f[5], 16, 4)
	return op, mask, err
}

func parseOperand(s string) Operand {
	if s[0] == '=' {
		return Operand{Text: strings.ReplaceAll(s[1:], ";", ", ")}
	}
	o := Operand{Field: s[0]}
	for _, c := range []byte(s[1:]) {
		switch {
		case c == 's' && o.Width == 0:
			o.Scalar = true
		case c >= '0' && c <= '9':
			o.Width = o.Width*10 + c - '0'
		case strings.IndexByte("hibt", c) >= 0:
			if o.Kind == 0 { // a half register is more than its kind of number
				o.Kind = c
			}
		default:
			o.Mods = c
		}
	}
	return o
}

func base(name string) string {
	for _, s := range []string{"_e64_dpp", "_dpp", "_sdwa", "_e32", "_e64"} {
		if b, ok := strings.CutSuffix(name, s); ok {
			return b
		}
	}
	return name
}
