package rdna

import "strings"

// compareOps are the comparisons by name.
var compareOps map[string]*vectorOp

// relations are the tests of two numbers, given how they compare: below, equal,
// above, or not at all because one is no number.
var relations = map[string]func(lt, eq, gt bool) bool{
	"f": func(lt, eq, gt bool) bool { return false }, "lt": func(lt, eq, gt bool) bool { return lt },
	"eq": func(lt, eq, gt bool) bool { return eq }, "le": func(lt, eq, gt bool) bool { return lt || eq },
	"gt": func(lt, eq, gt bool) bool { return gt }, "lg": func(lt, eq, gt bool) bool { return lt || gt },
	"ge": func(lt, eq, gt bool) bool { return gt || eq }, "o": func(lt, eq, gt bool) bool { return lt || eq || gt },
	"u": func(lt, eq, gt bool) bool { return !(lt || eq || gt) }, "nge": func(lt, eq, gt bool) bool { return !(gt || eq) },
	"nlg": func(lt, eq, gt bool) bool { return !(lt || gt) }, "ngt": func(lt, eq, gt bool) bool { return !gt },
	"nle": func(lt, eq, gt bool) bool { return !(lt || eq) }, "neq": func(lt, eq, gt bool) bool { return !eq },
	"nlt": func(lt, eq, gt bool) bool { return !lt }, "tru": func(lt, eq, gt bool) bool { return true },
	"t": func(lt, eq, gt bool) bool { return true }, "ne": func(lt, eq, gt bool) bool { return lt || gt },
}

func compareBy[T int64 | uint64 | float32 | float64](of func(uint64) T, rel func(lt, eq, gt bool) bool) laneFunc {
	return func(a, b, _ uint64) uint64 {
		x, y := of(a), of(b)
		return uint64(b2u(rel(x < y, x == y, x > y)))
	}
}

func compares() map[string]*vectorOp {
	m := map[string]*vectorOp{}
	for rel, f := range relations {
		for typ, o := range map[string]*vectorOp{
			"f16": op("m:hh", compareBy(f16of, f)), "f32": op("m:ff", compareBy(f32of, f)), "f64": op("m:dd", compareBy(f64of, f)),
			"i16": op("m:ww", compareBy(s16, f)), "i32": op("m:uu", compareBy(s32, f)), "i64": op("m:zz", compareBy(func(a uint64) int64 { return int64(a) }, f)),
			"u16": op("m:ww", compareBy(func(a uint64) uint64 { return a & 0xffff }, f)), "u32": op("m:uu", compareBy(u32, f)),
			"u64": op("m:qq", compareBy(func(a uint64) uint64 { return a }, f)),
		} {
			m["v_cmp_"+rel+"_"+typ], m["v_cmpx_"+rel+"_"+typ] = o, o
		}
	}
	for typ, f := range map[string]struct {
		sig    string
		format floatFormat
	}{"f16": {"m:hw", format16}, "f32": {"m:fu", format32}, "f64": {"m:du", format64}} {
		o := op(f.sig, func(a, b, _ uint64) uint64 { return uint64(b2u(uint64(f.format.class(a))&b != 0)) })
		m["v_cmp_class_"+typ], m["v_cmpx_class_"+typ] = o, o
	}
	return m
}

// scalarCompare is a comparison of the scalar ALU: s_cmp_REL_TYPE.
func scalarCompare(name string) (typ byte, fn laneFunc) {
	_, rest, _ := strings.Cut(name, "_")
	_, rest, _ = strings.Cut(rest, "_")
	rel, t, _ := strings.Cut(rest, "_")
	f, ok := relations[rel]
	if !ok {
		return 0, nil
	}
	switch t {
	case "i32":
		return 'u', compareBy(s32, f)
	case "u32":
		return 'u', compareBy(u32, f)
	case "u64":
		return 'q', compareBy(func(a uint64) uint64 { return a }, f)
	case "f32":
		return 'f', compareBy(f32of, f)
	case "f16":
		return 'h', compareBy(func(a uint64) float32 { return f16of(a & 0xffff) }, f)
	}
	return 0, nil
}
