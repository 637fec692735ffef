package main

import "strings"

// Sources in 9 bits.
const (
	half    = 240
	literal = 255
	dpp16   = 250
	sdwa    = 249
	value   = 0x12345678
)

func vgpr(n uint32) uint32 { return 256 + n }

func one(name string, words func(op uint32) []uint32) []probe { return []probe{{name, words}} }

// encodings lists those of a target.
func encodings(target string) []*encoding {
	gen := map[string]int{"gfx1030": 10, "gfx1100": 11, "gfx1151": 11, "gfx1201": 12}[target]
	list := append(scalar(gen), vector(gen)...)
	return append(list, memory(gen)...)
}

func scalar(gen int) []*encoding {
	sop := func(name string, ops, head uint32, shift int, srcs int, withDst bool) *encoding {
		w := func(a, b uint32) func(uint32) uint32 {
			return func(op uint32) uint32 {
				x := head | op<<shift
				if withDst {
					x |= 16 << 16
				}
				x |= a
				if srcs == 2 {
					x |= b << 8
				}
				return x
			}
		}
		plain, h0, h1, l0, l1 := w(32, 48), w(half, 48), w(32, half), w(literal, 48), w(32, literal)
		e := &encoding{name: name, ops: ops, fields: "d01"}
		e.base = []probe{
			{"", func(op uint32) []uint32 { return []uint32{plain(op)} }},
			{"", func(op uint32) []uint32 { return []uint32{plain(op), value} }},
		}
		e.probes = []probe{
			{"half0", func(op uint32) []uint32 { return []uint32{h0(op)} }},
			{"half1", func(op uint32) []uint32 { return []uint32{h1(op)} }},
			{"lit0", func(op uint32) []uint32 { return []uint32{l0(op), value} }},
			{"lit1", func(op uint32) []uint32 { return []uint32{l1(op), value} }},
		}
		return e
	}
	list := []*encoding{
		sop("SOP2", 96, 0b10<<30, 23, 2, true),
		sop("SOP1", 256, 0b101111101<<23, 8, 1, true),
		sop("SOPC", 128, 0b101111110<<23, 16, 2, false),
		{name: "SOPK", ops: 29, fields: "d", base: []probe{
			{"", func(op uint32) []uint32 { return []uint32{0b1011<<28 | op<<23 | 16<<16 | 0x1234} }},
			{"", func(op uint32) []uint32 { return []uint32{0b1011<<28 | op<<23 | 16<<16 | 0x1234, value} }},
		}},
		{name: "SOPP", ops: 128, base: []probe{
			{"", func(op uint32) []uint32 { return []uint32{0b101111111<<23 | op<<16 | 1} }},
			{"", func(op uint32) []uint32 { return []uint32{0b101111111<<23 | op<<16} }},
		}},
	}
	smem := func(op, soffset uint32) []uint32 {
		shift := 18
		if gen == 12 {
			shift = 13
		}
		return []uint32{0b111101<<26 | op<<shift | 16<<6 | 16, soffset << 25}
	}
	null := uint32(124)
	if gen == 10 {
		null = 125
	}
	ops := uint32(256)
	if gen == 12 {
		ops = 64
	}
	return append(list, &encoding{name: "SMEM", ops: ops, fields: "d012", base: []probe{
		{"", func(op uint32) []uint32 { return smem(op, null) }},
	}})
}

func vector(gen int) []*encoding {
	var list []*encoding
	// The short forms: an opcode, a destination, one or two sources, and a word
	// that carries a literal or the controls of DPP or SDWA.
	short := func(name string, ops uint32, word func(op, src0, src1 uint32) uint32) {
		plain := func(op uint32) []uint32 { return []uint32{word(op, vgpr(32), 48)} }
		list = append(list, &encoding{name: name, ops: ops, fields: "d012",
			base: []probe{{"", plain}, {"", func(op uint32) []uint32 { return append(plain(op), value) }}, {"", func(op uint32) []uint32 { return []uint32{word(op, 0, 0) &^ (16 << 17)} }}},
			probes: []probe{
				{"half0", func(op uint32) []uint32 { return []uint32{word(op, half, 48)} }},
				{"lit0", func(op uint32) []uint32 { return []uint32{word(op, literal, 48), value} }},
			}})
		const ctrl = 0x1b<<8 | 0xff<<24 // quad_perm:[3,2,1,0], all rows and banks
		list = append(list, &encoding{name: "DPP" + strings.TrimPrefix(name, "VOP"), ops: ops, fields: "d012",
			base: one("", func(op uint32) []uint32 { return []uint32{word(op, dpp16, 48), 32 | ctrl} }),
			probes: []probe{
				{"mods", func(op uint32) []uint32 { return []uint32{word(op, dpp16, 48), 32 | ctrl | 0xf<<20} }},
				{"mods", func(op uint32) []uint32 { return []uint32{word(op, dpp16, 48), 32 | ctrl | 0x3<<20} }},
			}})
		if gen != 10 {
			return
		}
		dst, second := uint32(6<<8), uint32(6<<24)
		if name == "VOPC" {
			dst = 0
		}
		form := func(name string, bits uint32) []probe {
			return []probe{
				{name, func(op uint32) []uint32 { return []uint32{word(op, sdwa, 48), 32 | dst | 6<<16 | second | bits} }},
				{name, func(op uint32) []uint32 { return []uint32{word(op, sdwa, 48), 32 | dst | 6<<16 | bits&0xffffff} }},
			}
		}
		mods := append(form("mods", 6<<19|6<<27), form("mods", 1<<19|1<<27)...)
		if name != "VOPC" {
			mods = append(append(form("mods", 6<<19|6<<27|1<<13), form("mods", 1<<19|1<<27|1<<13)...), mods...)
			mods = append(append(mods, form("mods", 1<<13)...), form("omod", 1<<14)...)
		}
		list = append(list, &encoding{name: "SDWA" + strings.TrimPrefix(name, "VOP"), ops: ops, fields: "d012", base: form("", 0), probes: mods})
	}
	short("VOP1", 128, func(op, a, b uint32) uint32 { return 0b0111111<<25 | op<<9 | 16<<17 | a })
	short("VOP2", 62, func(op, a, b uint32) uint32 { return op<<25 | 16<<17 | b<<9 | a })
	short("VOPC", 256, func(op, a, b uint32) uint32 { return 0b0111110<<25 | op<<17 | b<<9 | a })

	long := func(name string, ops uint32, head uint32, packed bool) {
		word := func(op, bits, a, b, c, high uint32) []uint32 {
			w := []uint32{head | op<<16 | 16 | bits, a | b<<9 | c<<18 | high}
			if a == literal || b == literal || c == literal {
				w = append(w, value)
			}
			return w
		}
		plain, plainHigh := uint32(0), uint32(0)
		if packed { // op_sel_hi is set where nothing is asked for
			plain, plainHigh = 1<<14, 3<<27
		}
		x, y, z := vgpr(32), vgpr(48), vgpr(64)
		p := func(name string, bits, a, b, c, high uint32) probe {
			return probe{name, func(op uint32) []uint32 { return word(op, bits, a, b, c, high) }}
		}
		e := &encoding{name: name, ops: ops, fields: "d012e",
			base: []probe{
				p("", plain, x, y, z, plainHigh), p("", plain, x, 48, z, plainHigh), p("", plain, x, 48, 64, plainHigh),
				p("", plain, x, y, 64, plainHigh), p("", plain, x, y, 0, plainHigh), p("", plain, x, 0, 0, plainHigh),
				p("", plain, 32, 48, 64, plainHigh), p("", plain, 32, 48, 0, plainHigh), p("", plain, 32, 0, 0, plainHigh), p("", plain, 0, 0, 0, plainHigh),
			},
		}
		opsel, opselHigh := uint32(8<<11), plainHigh // of the destination
		if packed {
			opsel = plain
		}
		// Fields of sources that an instruction does not have must be zero.
		for _, v := range [][2]uint32{{y, z}, {y, 64}, {y, 0}, {48, 64}, {48, 0}, {0, 0}} {
			y, z := v[0], v[1]
			e.probes = append(e.probes,
				p("half0", plain, half, y, z, plainHigh), p("half1", plain, x, half, z, plainHigh), p("half2", plain, x, y, half, plainHigh),
				p("lit0", plain, literal, y, z, plainHigh), p("lit1", plain, x, literal, z, plainHigh), p("lit2", plain, x, y, literal, plainHigh),
				p("sd", 80<<8, x, y, z, 0), p("omod", 0, x, y, z, 1<<27))
			for _, n := range []uint32{7, 3, 1} { // sources
				e.probes = append(e.probes, p("opsel", n<<11|opsel, x, y, z, opselHigh), p("mods", n<<8|1<<15|plain, x, y, z, n<<29|plainHigh))
			}
			for _, n := range []uint32{7, 3, 1} {
				e.probes = append(e.probes, p("mods", n<<8|plain, x, y, z, n<<29|plainHigh))
			}
			for _, n := range []uint32{7, 3, 1} {
				e.probes = append(e.probes, p("mods", plain, x, y, z, n<<29|plainHigh))
			}
			if packed {
				e.probes = append(e.probes, p("opselhi", 0, x, y, z, 0), p("opselhi", 1<<14, x, y, z, 0), p("opselhi", 1<<14, x, y, z, 2<<27))
			}
			e.probes = append(e.probes, p("mods", 1<<15|plain, x, y, z, plainHigh))
		}
		list = append(list, e)
		if gen == 10 {
			return
		}
		d := &encoding{name: "DPP" + strings.TrimPrefix(name, "VOP"), ops: ops, fields: "d012e"}
		dpp := func(bits, high, b, c uint32) func(op uint32) []uint32 {
			return func(op uint32) []uint32 {
				return append(word(op, bits, dpp16, b, c, high), 32|0x1b<<8|0xff<<24)
			}
		}
		d.base = []probe{{"", dpp(plain, plainHigh, y, z)}, {"", dpp(plain, plainHigh, y, 64)}, {"", dpp(plain, plainHigh, y, 0)}, {"", dpp(plain, plainHigh, 0, 0)}}
		for _, v := range [][2]uint32{{y, z}, {y, 64}, {y, 0}, {0, 0}} {
			y, z := v[0], v[1]
			d.probes = append(d.probes, probe{"half1", dpp(plain, plainHigh, half, z)}, probe{"half2", dpp(plain, plainHigh, y, half)},
				probe{"sd", dpp(80<<8, 0, y, z)}, probe{"omod", dpp(0, 1<<27, y, z)})
			for _, n := range []uint32{7, 3, 1} {
				d.probes = append(d.probes, probe{"opsel", dpp(n<<11|opsel, opselHigh, y, z)}, probe{"mods", dpp(n<<8|1<<15|plain, n<<29|plainHigh, y, z)})
			}
			for _, n := range []uint32{7, 3, 1} {
				d.probes = append(d.probes, probe{"mods", dpp(n<<8|plain, n<<29|plainHigh, y, z)})
			}
			if packed {
				d.probes = append(d.probes, probe{"opselhi", dpp(0, 0, y, z)}, probe{"opselhi", dpp(1<<14, 0, y, z)})
			}
			d.probes = append(d.probes, probe{"mods", dpp(1<<15|plain, plainHigh, y, z)})
		}
		list = append(list, d)
	}
	long("VOP3", 1024, 0b110101<<26, false)
	long("VOP3P", 128, 0b11001100<<24, true)
	if gen == 10 {
		return list
	}
	dual := func(x, y, src1x, src1y uint32, lit bool) []uint32 {
		w := []uint32{0b110010<<26 | x<<22 | y<<17 | src1x<<9 | vgpr(32), 16<<24 | 40<<17 | src1y<<9 | vgpr(33)}
		if lit {
			w = append(w, value)
		}
		return w
	}
	const add = 4
	side := func(i int) func(string) string {
		return func(text string) string {
			sides := strings.Split(text, " :: ")
			if len(sides) != 2 {
				return ""
			}
			s := strings.NewReplacer("v81", "v16", "v33", "v32", "v49", "v48").Replace(sides[i])
			return s
		}
	}
	return append(list,
		&encoding{name: "VOPDX", ops: 16, fields: "d01", half: side(0), base: []probe{
			{"", func(op uint32) []uint32 { return dual(op, add, 48, 49, false) }},
			{"", func(op uint32) []uint32 { return dual(op, add, 0, 49, false) }},
			{"", func(op uint32) []uint32 { return dual(op, add, 48, 49, true) }}}},
		&encoding{name: "VOPDY", ops: 32, fields: "d01", half: side(1), base: []probe{
			{"", func(op uint32) []uint32 { return dual(add, op, 48, 49, false) }},
			{"", func(op uint32) []uint32 { return dual(add, op, 48, 0, false) }},
			{"", func(op uint32) []uint32 { return dual(add, op, 48, 49, true) }}}})
}

func memory(gen int) []*encoding {
	var list []*encoding
	ds := &encoding{name: "DS", ops: 256, fields: "d012"}
	for _, f := range []uint32{
		32 | 48<<8 | 64<<16 | 16<<24, 32 | 48<<8 | 16<<24, 32 | 16<<24, 32 | 48<<8 | 64<<16, 32 | 48<<8, 48<<8 | 16<<24, 48 << 8, 16 << 24, 32, 0,
	} {
		form := func(bits uint32) func(op uint32) []uint32 {
			return func(op uint32) []uint32 { return []uint32{0b110110<<26 | op<<18 | bits, f} }
		}
		const gds = 1 << 17
		ds.base = append(ds.base, probe{"", form(0)}, probe{"", form(gds)})
		ds.probes = append(ds.probes, probe{"offset", form(0x0102)}, probe{"gds", form(gds)})
	}
	list = append(list, ds)
	for seg, name := range []string{"FLAT", "SCRATCH", "GLOBAL"} {
		word := func(op, ret, addr, data, dst, saddr uint32) []uint32 {
			switch gen {
			case 10:
				return []uint32{0b110111<<26 | uint32(seg)<<14 | op<<18 | ret<<16, addr | data<<8 | saddr<<16 | dst<<24}
			case 11:
				return []uint32{0b110111<<26 | uint32(seg)<<16 | op<<18 | ret<<14, addr | data<<8 | saddr<<16 | dst<<24}
			}
			return []uint32{0b111011<<26 | uint32(seg)<<24 | op<<14 | saddr, dst | ret<<20 | data<<23, addr}
		}
		null := uint32(124)
		if gen == 10 {
			null = 125
		}
		ops := uint32(128)
		if gen == 12 {
			ops = 256
		}
		e := &encoding{name: name, ops: ops, fields: "d012"}
		for _, v := range [][3]uint32{{32, 48, 16}, {32, 48, 0}, {32, 0, 16}, {32, 0, 0}, {0, 48, 0}, {0, 0, 16}, {0, 0, 0}} {
			form := func(ret uint32) func(op uint32) []uint32 {
				return func(op uint32) []uint32 { return word(op, ret, v[0], v[1], v[2], null) }
			}
			e.base = append(e.base, probe{"", form(0)})
			e.probes = append(e.probes, probe{"return", form(1)})
		}
		e.base = append(e.base, e.probes...)
		list = append(list, e)
	}
	buffer := func(op, ret uint32) []uint32 {
		switch gen {
		case 10:
			return []uint32{0b111000<<26 | op&127<<18 | op>>7<<25 | 1<<12 | ret<<14, 32 | 16<<8 | 12<<16 | 64<<24}
		case 11:
			return []uint32{0b111000<<26 | op<<18 | ret<<14, 32 | 16<<8 | 12<<16 | 1<<22 | 64<<24}
		}
		return []uint32{0b110001<<26 | op<<14 | 64, 16 | 48<<9 | ret<<20 | 1<<30, 32}
	}
	empty := func(op uint32) []uint32 {
		w := buffer(op, 0)
		if gen < 12 {
			w[0] &^= 1 << 12
			w[1] = 0
		}
		return w
	}
	return append(list, &encoding{name: "MUBUF", ops: 256, fields: "d012",
		base: []probe{{"", func(op uint32) []uint32 { return buffer(op, 0) }}, {"", func(op uint32) []uint32 { return buffer(op, 1) }}, {"", empty}}})
}
