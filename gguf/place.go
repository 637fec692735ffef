package gguf

import (
	"cmp"
	"slices"
)

// place works out where the data of each tensor is and checks that it lies
// within the file, aligned, and apart from that of all others.
func (s *scanner) place(h *header, entries []entry) error {
	order := make([]int, len(h.tensors))
	for i := range h.tensors {
		order[i] = i
		s.about("tensor", h.tensors[i].Name)
		if err := s.offset(h, &h.tensors[i], entries[i]); err != nil {
			return err
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(h.tensors[a].Offset, h.tensors[b].Offset), cmp.Compare(a, b))
	})
	for k, i := range order {
		t := &h.tensors[i]
		s.about("tensor", t.Name)
		var next *Tensor
		if k+1 < len(order) {
			next = &h.tensors[order[k+1]]
		}
		if err := s.extent(h, t, entries[i], next); err != nil {
			return err
		}
	}
	return nil
}

// offset sets the Offset of a tensor.
func (s *scanner) offset(h *header, t *Tensor, e entry) error {
	if e.offset%uint64(h.part.Alignment) != 0 {
		return s.errorf(e.at(t), "data offset %d is not a multiple of the alignment %d", e.offset, h.part.Alignment)
	}
	if e.offset >= uint64(s.end-h.part.DataOffset) {
		return s.errorf(e.at(t), "data offset %d is beyond the %d bytes of the data section", e.offset, s.end-h.part.DataOffset)
	}
	t.Offset = h.part.DataOffset + int64(e.offset)
	return nil
}

// extent checks the size of a tensor against the room up to the next in the
// file, or up to the end of the file if next is nil. The size of a tensor of
// unknown type is all the room there is.
func (s *scanner) extent(h *header, t *Tensor, e entry, next *Tensor) error {
	end := s.end
	if next != nil {
		end = next.Offset
	}
	room := end - t.Offset
	if !t.Type.Known() {
		t.Size = room
	}
	if t.Type.Private() && (room < t.Size || room-t.Size >= h.part.Alignment) {
		return s.errorf(e.at(t), "type id %d is %v here, but other forks use that id for types of their own: "+
			"%v would take %d bytes and the file has %d from offset %d to %s",
			uint32(t.Type), t.Type, t.Dims, t.Size, room, t.Offset, landmark(next))
	}
	if need := max(t.Size, 1); room < need {
		return s.errorf(e.at(t), "%d bytes of data at offset %d run into %s at offset %d", need, t.Offset, landmark(next), end)
	}
	return nil
}

// landmark names what follows the data of a tensor.
func landmark(next *Tensor) string {
	if next == nil {
		return "the end of the file"
	}
	return subject("tensor", next.Name)
}
