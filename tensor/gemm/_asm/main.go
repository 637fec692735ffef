// Command asm generates the assembly of package gemm:
//
//	go run . -set avx512 -out ../avx512_amd64.s -stubs ../avx512_amd64.go -tables ../avx512_tables_amd64.go -pkg gemm
package main

import (
	"flag"
	"log"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
)

func main() {
	set := flag.String("set", "", "avx2 or avx512")
	path := flag.String("tables", "", "Go file that lists the functions")
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
	products()
	unpacks()
	if v.rows() == tileRows {
		quadDots()
	}
	floats()
	quantizes()
	measures()
	writeTables(*path)
	pass.Compile = pass.Concat(pass.FunctionPass(schedule), pass.Compile)
	Generate()
}

// function begins a function of the instruction set.
func function(name, params, doc string) {
	TEXT(v.name()+name, attr.NOSPLIT, "func("+params+")")
	Pragma("noescape")
	Doc(v.name() + name + " " + doc)
}
