package gguf

import (
	"fmt"
	"math/rand/v2"
	"os"
)

// WriteFile writes the file at path, replacing what is there. It writes under
// another name in the same directory, syncs and renames, so that path never
// holds half a file.
func (w *Writer) WriteFile(path string) error {
	if w.err != nil {
		return w.err
	}
	return publish([]member{{path, &w.metadata, w.tensors}})
}

// WriteSplit writes a split set, the parts named by PartPath, and returns
// their paths. A part takes tensors as long as their data stay within maxBytes,
// but at least one. All parts are complete before the first gets its name.
func (w *Writer) WriteSplit(prefix string, maxBytes int64) ([]string, error) {
	if w.err != nil {
		return nil, w.err
	}
	groups := group(w.tensors, maxBytes)
	if len(groups) > maxWrittenParts {
		return nil, fmt.Errorf("gguf: %s: %d parts are more than %d", prefix, len(groups), maxWrittenParts)
	}
	var set []member
	var paths []string
	for i, tensors := range groups {
		path := PartPath(prefix, i, len(groups))
		set = append(set, member{path, w.partMetadata(i, len(groups)), tensors})
		paths = append(paths, path)
	}
	return paths, publish(set)
}

// maxWrittenParts is how many parts the u16 keys of a set can number.
const maxWrittenParts = 1<<16 - 1

// group distributes tensors over parts.
func group(tensors []source, maxBytes int64) [][]source {
	groups := [][]source{nil}
	size := int64(0)
	for _, t := range tensors {
		last := &groups[len(groups)-1]
		if len(*last) > 0 && t.Size > maxBytes-size {
			groups = append(groups, nil)
			last, size = &groups[len(groups)-1], 0
		}
		*last = append(*last, t)
		size += t.Size
	}
	return groups
}

// partMetadata returns the metadata of part i of n: all in the first, and only
// what the part needs by itself in the others.
func (w *Writer) partMetadata(i, n int) *Metadata {
	m := &Metadata{}
	if i == 0 {
		m = w.metadata.clone()
	} else if v, ok := w.metadata.Get(keyAlignment); ok {
		m.Set(keyAlignment, v)
	}
	m.Set(keySplitNo, Uint16(uint16(i)))
	m.Set(keySplitCount, Uint16(uint16(n)))
	m.Set(keySplitTensors, Int32(int32(len(w.tensors))))
	return m
}

// member is one file to be published.
type member struct {
	path     string
	metadata *Metadata
	tensors  []source
}

// publish writes all members under temporary names and then renames them.
func publish(set []member) (err error) {
	var temporary []string
	defer func() {
		if err != nil {
			for _, name := range temporary {
				os.Remove(name)
			}
		}
	}()
	for _, m := range set {
		name := fmt.Sprintf("%s.%016x.tmp", m.path, rand.Uint64())
		temporary = append(temporary, name)
		if err := m.write(name); err != nil {
			return fmt.Errorf("gguf: %s: %w", m.path, err)
		}
	}
	for i, m := range set {
		if err := os.Rename(temporary[i], m.path); err != nil {
			return fmt.Errorf("gguf: %w", err)
		}
	}
	return nil
}

// write writes the member to a new file of that name.
func (m member) write(name string) (err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
	}()
	o := newOutput(file)
	o.file = file
	if err := o.model(m.metadata, m.tensors); err != nil {
		return err
	}
	return file.Sync()
}
