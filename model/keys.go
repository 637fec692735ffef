package model

import (
	"fmt"

	"gorun/gguf"
)

// keys reads hyperparameters, which a file keeps under "ARCH.name". The first
// error sticks, so that a description reads all it needs and checks once.
type keys struct {
	meta *gguf.Metadata
	arch string
	err  error
}

func (k *keys) full(name string) string { return k.arch + "." + name }

func (k *keys) fail(err error) {
	if k.err == nil && err != nil {
		k.err = err
	}
}

// has reports whether the file has the key.
func (k *keys) has(name string) bool {
	_, ok := k.meta.Get(k.full(name))
	return ok
}

func (k *keys) require(name string) {
	if !k.has(name) {
		k.fail(fmt.Errorf("the file lacks the key %q", k.full(name)))
	}
}

// integer reads a count or a size; sizes beyond what a model could have are an
// error, so that products of them cannot overflow.
func (k *keys) integer(name string) int {
	k.require(name)
	return k.integerOr(name, 0)
}

// maxSize bounds every hyperparameter that sizes something.
const maxSize = 1 << 26

func (k *keys) integerOr(name string, otherwise int) int {
	v, ok, err := k.meta.Uint(k.full(name))
	switch {
	case err != nil:
		k.fail(err)
	case !ok:
		return otherwise
	case v > maxSize:
		k.fail(fmt.Errorf("key %q is %d: at most %d makes sense", k.full(name), v, maxSize))
	default:
		return int(v)
	}
	return otherwise
}

func (k *keys) float(name string) float64 {
	k.require(name)
	return k.floatOr(name, 0)
}

func (k *keys) floatOr(name string, otherwise float64) float64 {
	v, ok, err := k.meta.Float(k.full(name))
	if err != nil {
		k.fail(err)
	} else if ok {
		return v
	}
	return otherwise
}

func (k *keys) boolOr(name string, otherwise bool) bool {
	v, ok, err := k.meta.Bool(k.full(name))
	if err != nil {
		k.fail(err)
	} else if ok {
		return v
	}
	return otherwise
}

func (k *keys) textOr(name, otherwise string) string {
	v, ok, err := k.meta.String(k.full(name))
	if err != nil {
		k.fail(err)
	} else if ok {
		return v
	}
	return otherwise
}

// layerTensor is the name of a tensor of layer i.
func layerTensor(i int, part string) string { return fmt.Sprintf("blk.%d.%s", i, part) }

func errLatent(k *keys, headK int) error {
	return fmt.Errorf("keys %q %d and %q: no room for a head without position", k.full("attention.key_length_mla"), headK, k.full("rope.dimension_count"))
}

// boolsPerLayer reads an array of n flags, which files write as booleans or as
// integers.
func (k *keys) boolsPerLayer(name string, n int, otherwise func(i int) bool) []bool {
	flags := make([]bool, n)
	for i := range flags {
		flags[i] = otherwise(i)
	}
	v, ok := k.meta.Get(k.full(name))
	if !ok || v.Type() != gguf.TypeArray {
		return flags
	}
	list, err := v.Bools()
	if err != nil {
		var numbers []int64
		if numbers, err = v.Ints(); err != nil {
			k.fail(fmt.Errorf("key %q: %w", k.full(name), err))
			return flags
		}
		for _, x := range numbers {
			list = append(list, x != 0)
		}
	}
	if len(list) < n {
		k.fail(fmt.Errorf("key %q has %d values for %d layers", k.full(name), len(list), n))
		return flags
	}
	copy(flags, list)
	return flags
}

// floatsPerLayer reads an array of n numbers; zeros without it.
func (k *keys) floatsPerLayer(name string, n int) []float64 {
	values := make([]float64, n)
	list, ok, err := k.meta.Floats(k.full(name))
	switch {
	case err != nil:
		k.fail(err)
	case ok && len(list) < n:
		k.fail(fmt.Errorf("key %q has %d values for %d layers", k.full(name), len(list), n))
	case ok:
		copy(values, list)
	}
	return values
}

// perLayer reads a value for each of n layers: an array of n, or one number
// for all.
func (k *keys) perLayer(name string, n, otherwise int) []int {
	values := make([]int, n)
	v, ok := k.meta.Get(k.full(name))
	if !ok || v.Type() != gguf.TypeArray {
		one := k.integerOr(name, otherwise)
		for i := range values {
			values[i] = one
		}
		return values
	}
	list, err := v.Ints()
	if err != nil {
		k.fail(fmt.Errorf("key %q: %w", k.full(name), err))
		return values
	}
	if len(list) < n {
		k.fail(fmt.Errorf("key %q has %d values for %d layers", k.full(name), len(list), n))
		return values
	}
	for i := range values {
		if list[i] < 0 || list[i] > maxSize {
			k.fail(fmt.Errorf("key %q, layer %d: %d is out of range", k.full(name), i, list[i]))
			return values
		}
		values[i] = int(list[i])
	}
	return values
}
