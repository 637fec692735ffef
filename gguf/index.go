package gguf

import (
	"cmp"
	"slices"
	"strings"
)

// nameIndex has the positions of tensors in a table, ordered by their names.
// It is a fraction of the size of a map, which matters because a file decides
// how long it gets.
type nameIndex []int32

func indexNames(tensors []Tensor) nameIndex {
	x := make(nameIndex, len(tensors))
	for i := range x {
		x[i] = int32(i)
	}
	slices.SortFunc(x, func(a, b int32) int {
		return cmp.Or(strings.Compare(tensors[a].Name, tensors[b].Name), cmp.Compare(a, b))
	})
	return x
}

// find returns the position of the tensor of that name.
func (x nameIndex) find(tensors []Tensor, name string) (int, bool) {
	k, ok := slices.BinarySearchFunc(x, name, func(i int32, name string) int {
		return strings.Compare(tensors[i].Name, name)
	})
	if !ok {
		return 0, false
	}
	return int(x[k]), true
}

// duplicate returns the positions of two tensors of the same name, if there
// are any.
func (x nameIndex) duplicate(tensors []Tensor) (first, second int, found bool) {
	for k := range len(x) - 1 {
		if a, b := x[k], x[k+1]; tensors[a].Name == tensors[b].Name {
			return int(a), int(b), true
		}
	}
	return 0, 0, false
}
