// Package demo holds a language model small enough to be part of the program:
// 1.9 million parameters, trained from scratch on L. Frank Baum's "The
// Wonderful Wizard of Oz" (1900, public domain). The weights are CC0; the
// folder recipe has all that made them.
package demo

import (
	"bytes"
	_ "embed"

	"gorun/gguf"
)

//go:embed oz-q8_0.gguf
var model []byte

// Name is what the model is called in messages.
const Name = "oz (embedded)"

// Open opens the model.
func Open() (*gguf.File, error) {
	return gguf.Read(Name, bytes.NewReader(model), int64(len(model)))
}
