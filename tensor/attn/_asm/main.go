// Command _asm generates the assembly of packages attn and vec:
//
//	go run . -set avx512 -out ../avx512_amd64.s -stubs ../avx512_amd64.go -pkg attn
package main

import (
	"flag"
	"log"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
)

func main() {
	set := flag.String("set", "", "avx2 or avx512")
	kernels := flag.String("kernels", "attn", "attn or vec")
	flag.Parse()
	switch *set {
	case "avx2":
		v = avx2{}
	case "avx512":
		v = avx512{}
	default:
		log.Fatalf("unknown kernel set %q", *set)
	}
	ConstraintExpr("!purego")
	ConstraintExpr("!noasm")
	ConstraintExpr("!race")
	switch *kernels {
	case "attn":
		attention()
	case "vec":
		vectors()
	default:
		log.Fatalf("unknown kernels %q", *kernels)
	}
	Generate()
}

// attention generates package attn.
func attention() {
	for _, t := range types() {
		if !t.loaded {
			for _, rows := range []int{4, 2, 1} {
				if t.rounded {
					roundedDots(rows, t)
				} else {
					dots(rows, t)
				}
				add(rows, t)
			}
		}
		load(t)
	}
	if v.lanes() < lanes {
		round()
	}
	softmax()
	softcap()
	blend()
}

// vectors generates package vec.
func vectors() {
	for _, f := range activations {
		gated(f)
		activate(f)
	}
	squares()
	scale()
	accumulate()
	multiplyAdd()
	halve()
	delta()
}

// function begins a function of the instruction set.
func function(name, params, doc string) {
	TEXT(v.name()+name, attr.NOSPLIT, "func"+params)
	Pragma("noescape")
	Doc(v.name() + name + " " + doc)
}
