// Command _gen makes the opcode tables of package isa: it asks llvm-mc-19 what
// it makes of synthetic words, one set for each opcode of each encoding, and
// reads names, operands and modifiers from the answers. Run it with go
// generate in package isa; it needs Debian's llvm-19.
//
// Every field that holds a register gets a number of its own, so that an
// operand of the text tells its field:
//
//	16 d  destination            48 1  second source, data
//	32 0  first source, address  64 2  third source, scalar address
//	80 e  second destination
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

var targets = []string{"gfx1030", "gfx1100", "gfx1151", "gfx1201"}

func main() {
	out := flag.String("out", "tables.txt", "file to write")
	tool := flag.String("llvm-mc", "llvm-mc-19", "the disassembler")
	flag.Parse()
	masks := map[string]int{}
	for i, t := range targets {
		for _, e := range encodings(t) {
			for _, line := range e.table(&disassembler{tool: *tool, target: t}) {
				masks[line] |= 1 << i
			}
		}
	}
	var lines []string
	for l, m := range masks {
		lines = append(lines, fmt.Sprintf("%s %x", l, m))
	}
	sort.Strings(lines)
	var b bytes.Buffer
	b.WriteString("# Made by _gen from the answers of llvm-mc-19; do not edit.\n")
	b.WriteString("# Encoding, opcode, name, operands, flags, targets: see table.go.\n")
	for _, l := range lines {
		b.WriteString(l + "\n")
	}
	check(os.WriteFile(*out, b.Bytes(), 0o644))
}

// A probe is a set of words with certain fields set.
type probe struct {
	name  string
	words func(op uint32) []uint32
}

// An encoding is what the words of a group of opcodes look like.
type encoding struct {
	name   string
	ops    uint32
	base   []probe // alternatives for the plain form
	probes []probe // forms with modifiers
	half   func(text string) string
	fields string // letters of registers 16, 32, 48, 64, 80
}

var comment = regexp.MustCompile(`\s*/\*[^*]*\*/`)

func (e *encoding) table(d *disassembler) []string {
	type entry struct{ base, more []int }
	entries := make([]entry, e.ops)
	for op := range e.ops {
		for _, p := range e.base {
			entries[op].base = append(entries[op].base, d.add(p.words(op)...))
		}
		for _, p := range e.probes {
			entries[op].more = append(entries[op].more, d.add(p.words(op)...))
		}
	}
	texts := d.run()
	for i, t := range texts {
		t = comment.ReplaceAllString(strings.ReplaceAll(t, "\t", " "), "")
		if e.half != nil && t != "" {
			t = e.half(t)
		}
		texts[i] = strings.TrimSpace(t)
	}
	var lines []string
	for op, en := range entries {
		for _, b := range en.base {
			if texts[b] == "" {
				continue
			}
			forms := map[string]string{}
			for i, p := range e.probes {
				if forms[p.name] == "" {
					forms[p.name] = texts[en.more[i]]
				}
			}
			lines = append(lines, fmt.Sprintf("%s %x %s", e.name, op, e.describe(texts[b], forms)))
			break
		}
	}
	return lines
}

var register = regexp.MustCompile(`^([sv])(?:(\d+)(\.l)?|\[(\d+):(\d+)\])$`)

// operands splits a text into its name and its operands. Modifiers behind the
// last operand stay with it.
func operands(text string) (name string, ops []string) {
	name, rest, _ := strings.Cut(text, " ")
	if rest == "" {
		return name, nil
	}
	for _, o := range strings.Split(rest, ", ") {
		// hwreg(1, 2, 3) is one operand.
		if n := len(ops) - 1; n >= 0 && strings.Count(ops[n], "(") > strings.Count(ops[n], ")") {
			ops[n] += ", " + o
			continue
		}
		ops = append(ops, strings.TrimSpace(o))
	}
	last := len(ops) - 1
	if !strings.HasPrefix(ops[last], "hwreg(") && !strings.HasPrefix(ops[last], "sendmsg(") {
		ops[last], _, _ = strings.Cut(ops[last], " ")
	}
	return name, ops
}

// describe makes the columns of a table line: name, operands, flags.
func (e *encoding) describe(text string, forms map[string]string) string {
	name, ops := operands(text)
	var cols []string
	at := map[byte]int{}
	for i, o := range ops {
		m := register.FindStringSubmatch(o)
		if m == nil {
			cols = append(cols, "="+o)
			continue
		}
		first, width := 0, 1
		if m[2] != "" {
			first, _ = strconv.Atoi(m[2])
		} else {
			first, _ = strconv.Atoi(m[4])
			last, _ := strconv.Atoi(m[5])
			width = last - first + 1
		}
		f := (first - 16) / 16
		if first < 16 || first >= 16+16*len(e.fields) {
			cols = append(cols, "="+o)
			continue
		}
		c := e.fields[f]
		at[c] = i
		s := string(c)
		if m[1] == "s" {
			s += "s"
		}
		s += strconv.Itoa(width)
		if m[3] != "" {
			s += "t" // half a register, by the top bit of its number
		}
		cols = append(cols, s)
	}
	// Kinds of immediates, from 0.5 and from a literal.
	for _, c := range []byte("012") {
		i, ok := at[c]
		if !ok {
			continue
		}
		get := func(form string) string {
			_, o := operands(forms[form])
			if i < len(o) {
				return o[i]
			}
			return ""
		}
		kind := ""
		switch half, lit := get("half"+string(c)), get("lit"+string(c)); {
		case half == "0x3800":
			kind = "i"
		case half == "0x3f00":
			kind = "b"
		case lit == "0x5678":
			kind = "h"
		}
		switch m := get("mods"); {
		case strings.HasPrefix(m, "sext("):
			kind += "s"
		case strings.HasPrefix(m, "-|"):
			kind += "m"
		case strings.HasPrefix(m, "-"):
			kind += "g"
		case strings.HasPrefix(m, "|"):
			kind += "a"
		}
		cols[i] += kind
	}
	flags := ""
	for _, f := range []struct{ form, text, flag string }{
		{"mods", " clamp", "c"}, {"omod", " mul:2", "o"}, {"opsel", "op_sel:", "p"}, {"opselhi", "op_sel_hi:", "q"},
		{"mods", "neg_lo:", "l"}, {"mods", "neg_hi:", "h"}, {"offset", "offset0:", "2"}, {"gds", " gds", "g"},
		{"bfi", "byte_sel:", "y"}, {"opsel", "index_key:", "k"},
	} {
		if strings.Contains(forms[f.form], f.text) {
			flags += f.flag
			if f.flag == "p" {
				_, list, _ := strings.Cut(forms[f.form], "op_sel:[")
				list, _, _ = strings.Cut(list, "]")
				flags += strconv.Itoa(strings.Count(list, ",") + 1)
			}
		}
	}
	if r := forms["return"]; r != "" {
		_, o := operands(r)
		if len(o) == len(ops)+1 {
			if m := register.FindStringSubmatch(o[0]); m != nil {
				width := 1
				if m[4] != "" {
					a, _ := strconv.Atoi(m[4])
					b, _ := strconv.Atoi(m[5])
					width = b - a + 1
				}
				flags += "r" + strconv.Itoa(width)
			}
		}
	}
	if s := forms["sd"]; s != "" && strings.Contains(s, "s80") {
		// The second destination overlays abs and op_sel.
		for i, c := range cols {
			if c == "=s0" || c == "=s[0:1]" {
				cols[i] = "es1"
			}
		}
	}
	if flags == "" {
		flags = "-"
	}
	list := strings.Join(cols, ",")
	if list == "" {
		list = "-"
	}
	return name + " " + strings.ReplaceAll(list, ", ", ";") + " " + flags
}
