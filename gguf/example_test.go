package gguf_test

import (
	"bytes"
	"fmt"
	"strings"

	"gorun/gguf"
	"gorun/tensor"
)

// Write a small model to memory, read it back and list what it holds.
func Example() {
	w := gguf.NewWriter()
	w.Set("general.architecture", gguf.String("llama"))
	w.Set("llama.block_count", gguf.Uint32(2))
	w.Set("tokenizer.ggml.tokens", gguf.Array([]string{"<s>", "a", "b"}))
	w.AddTensor(gguf.Tensor{Name: "output_norm.weight", Type: tensor.F16, Dims: []int64{4}}, strings.NewReader("\x00\x3c\x00\x3c\x00\x3c\x00\x3c"))
	var file bytes.Buffer
	if _, err := w.WriteTo(&file); err != nil {
		fmt.Println(err)
		return
	}

	f, err := gguf.Read("example.gguf", bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		fmt.Println(err)
		return
	}
	for key, v := range f.Metadata().All() {
		x, err := v.Any()
		fmt.Println(key, v.Type(), x, err)
	}
	blocks, ok, err := f.Metadata().Uint("llama.block_count")
	fmt.Println(blocks, ok, err)
	_, _, err = f.Metadata().Uint("general.architecture")
	fmt.Println(err)
	for _, t := range f.Tensors() {
		fmt.Println(t, "at", t.Offset, "takes", t.Size)
	}
	// Output:
	// general.architecture string llama <nil>
	// llama.block_count u32 2 <nil>
	// tokenizer.ggml.tokens array [<s> a b] <nil>
	// 2 true <nil>
	// gguf: key "general.architecture": wanted an unsigned integer, found string
	// output_norm.weight f16 [4] at 256 takes 8
}
