// Package quantize turns a GGUF model into a smaller one: it chooses the type
// of every tensor and streams the conversion.
//
// # Mixes
//
// A recipe (Q4_K_M, say) is more than one type: tensors on which much depends,
// the output above all, get more bits, and some tensors are left as they are.
// The mixes are those of llama.cpp's llama-quantize without an importance
// matrix, tensor by tensor, so that a file is what users expect from its name;
// the recipes for AMD GPUs are those of the ROCmFP fork. The table of recipes
// is in recipes.go, what holds for all of them in choose.go.
//
// # Conversion
//
// A [Plan] is made from the header alone and says what each tensor becomes and
// how many bytes that takes. [Plan.WriteFile] then converts tensor by tensor,
// in chunks of whole rows that several goroutines work on. Memory is bounded by
// a few chunks for each of them, whatever the size of the model. Chunks are
// written in order and do not depend on each other, so the bytes of the file do
// not depend on the number of goroutines.
//
// The file appears under its name when it is complete, and not at all if
// something fails or the context ends.
package quantize
