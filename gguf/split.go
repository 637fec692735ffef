package gguf

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
)

// The keys that tie a split set together.
const (
	keySplitNo      = "split.no"            // of the part, from 0
	keySplitCount   = "split.count"         // of parts
	keySplitTensors = "split.tensors.count" // over all parts
)

// maxParts is the most parts that the names of a split set can number.
const maxParts = 99999

// PartPath returns the path of part i, counted from 0, of the n parts of a
// split set: prefix-00001-of-0000n.gguf.
func PartPath(prefix string, i, n int) string {
	return fmt.Sprintf("%s-%05d-of-%05d.gguf", prefix, i+1, n)
}

var partName = regexp.MustCompile(`^(.+)-(\d{5})-of-(\d{5})\.gguf$`)

// parsePartPath takes a path apart that PartPath may have made.
func parsePartPath(path string) (prefix string, i, n int, ok bool) {
	dir, base := filepath.Split(path)
	m := partName.FindStringSubmatch(base)
	if m == nil {
		return "", 0, 0, false
	}
	i, _ = strconv.Atoi(m[2]) // five digits
	n, _ = strconv.Atoi(m[3])
	return dir + m[1], i - 1, n, true
}

// split is what the metadata of a part say about its set.
type split struct {
	no, count uint64
	tensors   uint64
	counted   bool // the number of tensors is given
}

func splitOf(h *header) (split, error) {
	var s split
	var numbered, parts bool
	var errs [3]error
	s.no, numbered, errs[0] = h.metadata.Uint(keySplitNo)
	s.count, parts, errs[1] = h.metadata.Uint(keySplitCount)
	s.tensors, s.counted, errs[2] = h.metadata.Uint(keySplitTensors)
	if err := errors.Join(errs[:]...); err != nil {
		return split{}, fmt.Errorf("gguf: %s: %w", h.part.Path, err)
	}
	switch {
	case s.count > maxParts:
		return split{}, fmt.Errorf("gguf: %s: %s %d is more than %d", h.part.Path, keySplitCount, s.count, maxParts)
	case s.count > 1 && !numbered:
		return split{}, fmt.Errorf("gguf: %s: %s is %d but there is no %s", h.part.Path, keySplitCount, s.count, keySplitNo)
	case parts && s.count > 0 && s.no >= s.count:
		return split{}, fmt.Errorf("gguf: %s: %s %d is not below %s %d", h.part.Path, keySplitNo, s.no, keySplitCount, s.count)
	}
	return s, nil
}

// set is a split set as one of its members describes it.
type set struct {
	prefix string
	member int // which one that is
	split
}

// setOf returns the set that the file at path belongs to, or nil if it is a
// model by itself.
func setOf(path string, h *header) (*set, error) {
	s, err := splitOf(h)
	if err != nil {
		return nil, err
	}
	prefix, i, n, ok := parsePartPath(path)
	switch {
	case s.count <= 1 && (!ok || n <= 1):
		return nil, nil
	case s.count <= 1:
		return nil, fmt.Errorf("gguf: %s: the name says that this is part %d of %d, but %s does not", path, i+1, n, keySplitCount)
	case !ok:
		return nil, fmt.Errorf("gguf: %s: %s says that this is part %d of %d, but the name is not of the form %s, so the other parts cannot be found",
			path, keySplitNo, s.no+1, s.count, filepath.Base(PartPath("NAME", int(s.no), int(s.count))))
	}
	return &set{prefix, i, s}, nil
}

// openSet opens all members of a set of which the header of one has been read.
func (f *File) openSet(set *set, read *header) error {
	if err := set.check(set.member, read); err != nil {
		return err
	}
	var headers []*header
	keys, tensors := 0, 0
	n := int(set.count)
	for i := range n {
		h := read
		if i != set.member {
			var err error
			if h, err = f.openHeader(PartPath(set.prefix, i, n)); errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("gguf: part %d of the %d of %s is missing: %w", i+1, n, read.part.Path, err)
			} else if err != nil {
				return err
			}
			if err := set.check(i, h); err != nil {
				return err
			}
		}
		headers = append(headers, h)
		keys += h.metadata.Len()
		tensors += len(h.tensors)
		if keys > maxKeys || tensors > maxTensors {
			return fmt.Errorf("gguf: %s: up to this part the set has %d keys and %d tensors, more than %d or %d",
				h.part.Path, keys, tensors, maxKeys, maxTensors)
		}
	}
	if set.counted && set.tensors != uint64(tensors) {
		return fmt.Errorf("gguf: %s: %s is %d, but the %d parts have %d tensors", read.part.Path, keySplitTensors, set.tensors, n, tensors)
	}
	return f.join(headers, tensors)
}

// join makes the parts, which have n tensors together, one model.
func (f *File) join(headers []*header, n int) error {
	f.metadata = headers[0].metadata
	f.tensors = make([]Tensor, 0, n)
	for i, h := range headers {
		for _, t := range h.tensors {
			t.Part = i
			f.tensors = append(f.tensors, t)
		}
		f.parts = append(f.parts, h.part)
	}
	f.index = indexNames(f.tensors)
	if a, b, ok := f.index.duplicate(f.tensors); ok {
		return fmt.Errorf("gguf: %s: %s occurs in %s too", f.parts[f.tensors[b].Part].Path,
			subject("tensor", f.tensors[b].Name), f.parts[f.tensors[a].Part].Path)
	}
	return nil
}

// check checks that h is part i of the set.
func (set *set) check(i int, h *header) error {
	s, err := splitOf(h)
	if err != nil {
		return err
	}
	_, _, named, _ := parsePartPath(h.part.Path)
	switch {
	case s.count != set.count:
		return fmt.Errorf("gguf: %s: %s is %d in this part and %d in another", h.part.Path, keySplitCount, s.count, set.count)
	case uint64(named) != s.count:
		return fmt.Errorf("gguf: %s: %s is %d, but the name says that there are %d parts", h.part.Path, keySplitCount, s.count, named)
	case i < 0 || s.no != uint64(i):
		return fmt.Errorf("gguf: %s: %s is %d, which makes this part %d, but the name says part %d", h.part.Path, keySplitNo, s.no, s.no+1, i+1)
	case s.counted != set.counted || s.tensors != set.tensors:
		return fmt.Errorf("gguf: %s: %s is %d in this part and %d in another", h.part.Path, keySplitTensors, s.tensors, set.tensors)
	}
	return nil
}
