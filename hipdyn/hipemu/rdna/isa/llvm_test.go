package isa

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var samples = flag.Int("samples", 6, "random encodings of each opcode that are compared with llvm-mc-19")

// head is the first word of an opcode, and how many words follow at least.
func head(s *Set, o *Op) (w uint32, more int, random uint32) {
	c, gen := uint32(o.Code), s.Generation
	src := map[Encoding]uint32{DPP1: srcDPP16, DPP2: srcDPP16, DPPC: srcDPP16, SDWA1: srcSDWA, SDWA2: srcSDWA, SDWAC: srcSDWA}[o.Encoding]
	seg := map[Encoding]uint32{FLAT: 0, SCRATCH: 1, GLOBAL: 2}[o.Encoding]
	switch o.Encoding {
	case SOP1:
		return 0b101111101<<23 | c<<8, 0, 0x7f00ff
	case SOP2:
		return 0b10<<30 | c<<23, 0, 0x7fffff
	case SOPC:
		return 0b101111110<<23 | c<<16, 0, 0xffff
	case SOPK:
		return 0b1011<<28 | c<<23, 0, 0x7fffff
	case SOPP:
		return 0b101111111<<23 | c<<16, 0, 0xffff
	case SMEM:
		if gen == 12 {
			return 0b111101<<26 | c<<13, 1, 0x1f<<20 | 0x1fff
		}
		return 0b111101<<26 | c<<18, 1, 0x1ffff
	case VOP1:
		return 0b0111111<<25 | c<<9, 0, 0xff<<17 | 0x1ff
	case VOPC:
		return 0b0111110<<25 | c<<17, 0, 0x1ffff
	case VOP2:
		return c << 25, 0, 0x1ffffff
	case DPP1, SDWA1:
		return 0b0111111<<25 | c<<9 | src, 1, 0xff << 17
	case DPPC, SDWAC:
		return 0b0111110<<25 | c<<17 | src, 1, 0xff << 9
	case DPP2, SDWA2:
		return c<<25 | src, 1, 0xffff << 9
	case VOP3, DPP3:
		return 0b110101<<26 | c<<16, 1, 0xffff
	case VOP3P, DPP3P:
		return 0b11001100<<24 | c<<16, 1, 0xffff
	case VOPDX:
		return 0b110010<<26 | c<<22 | 4<<17, 1, 0x1ffff
	case VOPDY:
		return 0b110010<<26 | 4<<22 | c<<17, 1, 0x1ffff
	case DS:
		return 0b110110<<26 | c<<18, 1, 0x3ffff
	case FLAT, SCRATCH, GLOBAL:
		switch gen {
		case 10:
			return 0b110111<<26 | c<<18 | seg<<14, 1, 0x31fff
		case 11:
			return 0b110111<<26 | c<<18 | seg<<16, 1, 0xffff
		}
		return 0b111011<<26 | seg<<24 | c<<14, 2, 0x7f
	}
	switch gen {
	case 10:
		return 0b111000<<26 | c&127<<18 | c>>7<<25, 1, 0x1ffff
	case 11:
		return 0b111000<<26 | c<<18, 1, 0x7fff
	}
	return 0b110001<<26 | c<<14, 2, 0x40007f
}

// control is a valid control of DPP16. (LLVM 19 crashes on some that are not.)
func control(r *rand.Rand) uint32 {
	switch r.IntN(5) {
	case 0:
		return r.Uint32N(256)
	case 1:
		return 0x101 + r.Uint32N(15) + 0x10*r.Uint32N(3)
	case 2:
		return 0x140 + r.Uint32N(2)
	}
	return 0x150 + r.Uint32N(32)
}

// sample makes an instruction of an opcode with random fields. Fields that are
// rarely of use are often zero.
func sample(s *Set, o *Op, r *rand.Rand) []byte {
	w, more, random := head(s, o)
	words := []uint32{w | r.Uint32()&random}
	for range more {
		words = append(words, r.Uint32())
	}
	switch o.Encoding {
	case VOP3, VOP3P, DPP3, DPP3P:
		w1 := words[1]
		for i := range 3 {
			if r.IntN(4) > 0 {
				w1 |= 0x100 << (9 * i) // vector registers
			}
		}
		if r.IntN(2) == 0 {
			words[0] &^= 0xff00
			w1 &^= 0xf8000000
		}
		if o.Encoding == DPP3 || o.Encoding == DPP3P {
			w1 = w1&^0x1ff | srcDPP16
			words = append(words, r.Uint32()&^0x1ff00|control(r)<<8)
		}
		// Zero fields that are not there.
		sources := 0
		for _, p := range o.Operands {
			if p.Field >= '0' && p.Field <= '2' {
				sources = int(p.Field-'0') + 1
			}
		}
		for i := sources; i < 3; i++ {
			w1 &^= 0x1ff<<(9*i) | 1<<(29+i)
			if o.Encoding == VOP3 || o.Encoding == DPP3 {
				words[0] &^= 1 << (8 + i)
			}
			words[0] &^= 1 << (11 + i)
			if o.Encoding == VOP3P || o.Encoding == DPP3P {
				words[0] &^= 1 << (8 + i)
			}
		}
		words[1] = w1
	case DS, FLAT, GLOBAL, SCRATCH:
		// Most opcodes want zeros in what they do not use.
		keep := map[byte]bool{}
		for _, p := range o.Operands {
			keep[p.Field] = true
		}
		field := func(i int, at uint) {
			words[i] &^= 0xff << at
		}
		if o.Encoding == DS {
			for f, at := range map[byte]uint{'0': 0, '1': 8, '2': 16, 'd': 24} {
				if !keep[f] {
					field(1, at)
				}
			}
		} else if s.Generation < 12 {
			if !keep['1'] {
				field(1, 8)
			}
			if !keep['d'] && !(o.Has('r') && words[0]&(1<<14|1<<16) != 0) {
				field(1, 24)
			}
			if r.IntN(2) == 0 {
				words[1] = words[1]&^(0x7f<<16) | uint32(s.Null())<<16
			}
		} else {
			if !keep['1'] {
				field(1, 23)
			}
			if !keep['d'] && !o.Has('r') {
				field(1, 0)
			}
			words[1] &^= 1<<21 | 1<<22 | 0xfe<<8
			if r.IntN(2) == 0 {
				words[0] = words[0]&^0x7f | uint32(s.Null())
			}
		}
	case SMEM:
		if r.IntN(2) == 0 {
			words[1] = words[1]&0x1ffffff | uint32(s.Null())<<25
		}
		if s.Generation < 12 {
			words[1] &^= 0xf << 21
		} else {
			words[1] &^= 1 << 24
			words[0] &^= 0x1f << 20
		}
	case VOP1, VOP2, VOPC:
		switch words[0] & 0x1ff {
		case srcSDWA, srcDPP16, srcDPP8, srcDPP8FI:
			words[0] |= VGPR
		}
	case SOP1:
		if strings.HasPrefix(o.Base, "s_sendmsg_rtn") {
			words[0] = words[0]&^0xff | 128 + r.Uint32N(7)
		}
	case DPP1, DPP2, DPPC:
		words[1] = words[1]&^0x1ff00 | control(r)<<8
		if o.Base == "v_cndmask_b32" {
			words[1] &^= 1 << 23 // LLVM 19 closes the bar behind vcc_lo
		}
	case SDWA1, SDWA2, SDWAC:
		words[1] &^= 1<<22 | 1<<30 | 1<<8 | 3<<11 | 1<<16 | 1<<24 // no selection or filling that does not exist
	case SOPP:
		if strings.HasPrefix(o.Base, "s_sendmsg") { // names of the messages of compute
			words[0] = words[0]&^0xffff | []uint32{1, 9}[r.IntN(2)]
		}
	case MUBUF:
		if s.Generation == 12 {
			words[0] &^= 1 << 22
		}
	}
	var b []byte
	literal := r.Uint32()
	if r.IntN(4) == 0 {
		literal = []uint32{0, 1, 64, 65, 0xffffffff, 0xfffffff0, 0xffffffef, 0x3f800000, 0x3c00, 0x8000}[r.IntN(10)]
	}
	for _, w := range append(words, literal, 0) {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// llvm finds a tool of LLVM 19, or skips the test.
func llvm(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name + "-19")
	if err != nil {
		t.Skipf("needs %s-19 (Debian: apt-get install llvm-19); the decoder is not compared with it here", name)
	}
	return path
}

// TestAgainstLLVM decodes and prints random instructions of every opcode.
func TestAgainstLLVM(t *testing.T) {
	tool := llvm(t, "llvm-mc")
	for _, target := range Targets {
		t.Run(target, func(t *testing.T) {
			s, err := For(target)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, 2))
			var ours []*Inst
			var in bytes.Buffer
			for _, o := range s.Ops() {
				if strings.HasPrefix(o.Base, "v_interp") || strings.HasPrefix(o.Base, "tbuffer") || o.Base == "s_version" {
					continue // of graphics and of assemblers
				}
				for range *samples {
					code := sample(s, o, r)
					i, err := s.Decode(code)
					if err != nil {
						// A random source may have asked for DPP or SDWA.
						if o.Encoding < VOP1 || o.Encoding > VOPDY {
							t.Errorf("%s % x: %v", o.Name, code, err)
						}
						continue
					}
					if o.Base == "s_nop" {
						continue // marks the instructions below
					}
					ours = append(ours, i)
					in.WriteString("[")
					for _, c := range code[:i.Size] {
						fmt.Fprintf(&in, "0x%02x ", c)
					}
					fmt.Fprintf(&in, "]\n[0x%02x 0x00 0x80 0xbf]\n", (len(ours)-1)%64)
				}
			}
			file := filepath.Join(t.TempDir(), "words")
			if err := os.WriteFile(file, in.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(tool, "-arch=amdgcn", "-mcpu="+target, "-disassemble", file).Output()
			if _, ok := err.(*exec.ExitError); err != nil && !ok { // some words are invalid
				t.Fatal(err)
			}
			n, compared, bad := 0, 0, 0
			seen := map[*Op]bool{}
			var lines []string
			for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
				line := strings.ReplaceAll(strings.TrimSpace(sc.Text()), "\t", " ")
				if line == ".text" {
					continue
				}
				if n < len(ours) && line == fmt.Sprintf("s_nop %d", n%64) && (len(lines) > 0 || !strings.HasPrefix(line, "s_nop 0x")) {
					if len(lines) == 1 && !strings.Contains(lines[0], "/*") {
						compared++
						if got := ours[n].String(); got != lines[0] {
							if bad++; !seen[ours[n].Op] && len(seen) < 30 {
								seen[ours[n].Op] = true
								t.Errorf("%v: got %q, want %q", ours[n].Op.Encoding, got, lines[0])
							}
						}
					}
					n++
					lines = nil
					continue
				}
				lines = append(lines, line)
			}
			if n != len(ours) {
				t.Fatalf("%d of %d instructions came back; the next is %v (%d lines: %q); %v", n, len(ours), ours[n], len(lines), lines[max(0, len(lines)-3):], err)
			}
			t.Logf("%d of %d random instructions are valid; %d differ", compared, len(ours), bad)
			if compared < len(ours)/3 {
				t.Errorf("only %d of %d instructions could be compared", compared, len(ours))
			}
		})
	}
}
