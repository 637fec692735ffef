package gguf

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"gorun/tensor"
)

// write returns the file that w describes.
func write(t testing.TB, w *Writer) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := w.WriteTo(&b)
	if err != nil {
		t.Fatal(err)
	}
	if n != int64(b.Len()) {
		t.Fatalf("WriteTo returned %d and wrote %d bytes", n, b.Len())
	}
	return b.Bytes()
}

// smallFile has a value of each type and a few tensors.
func smallFile(t testing.TB) []byte {
	t.Helper()
	w := NewWriter()
	w.Set("general.architecture", String("llama"))
	w.Set("a.u8", Uint8(200))
	w.Set("a.i8", Int8(-100))
	w.Set("a.u16", Uint16(60000))
	w.Set("a.i16", Int16(-30000))
	w.Set("a.u32", Uint32(4e9))
	w.Set("a.i32", Int32(-2e9))
	w.Set("a.u64", Uint64(1<<64-1))
	w.Set("a.i64", Int64(-1<<63))
	w.Set("a.f32", Float32(1.5))
	w.Set("a.f64", Float64(-2.25))
	w.Set("a.bool", Bool(true))
	w.Set("a.bytes", String("\xff\x00\xfe"))
	w.Set("a.strings", Array([]string{"one", "", "\xf0"}))
	w.Set("a.bools", Array([]bool{true, false}))
	nested, err := Arrays(Array([]int16{1, -2}), Array([]string{"x"}), Array([]float32{}))
	if err != nil {
		t.Fatal(err)
	}
	w.Set("a.nested", nested)
	w.AddTensor(Tensor{Name: "token_embd.weight", Type: tensor.F32, Dims: []int64{8, 3}}, bytes.NewReader(make([]byte, 96)))
	w.AddTensor(Tensor{Name: "blk.0.attn_q.weight", Type: tensor.Q8_0, Dims: []int64{32, 2}}, bytes.NewReader(make([]byte, 68)))
	w.AddTensor(Tensor{Name: "blk.0.ffn.weight", Type: tensor.Q4_0_ROCMFP4_FAST, Dims: []int64{64}}, nil)
	return write(t, w)
}

// checkInvariants checks what must hold for any file that could be opened.
func checkInvariants(f *File) error {
	parts := f.Parts()
	for i, p := range parts {
		if p.DataOffset < 24 || p.DataOffset > p.Size {
			return fmt.Errorf("part %d: data at %d of %d bytes", i, p.DataOffset, p.Size)
		}
	}
	tensors := f.Tensors()
	for i, t := range tensors {
		p := parts[t.Part]
		if t.Size <= 0 || t.Offset < p.DataOffset || t.Offset > p.Size || t.Size > p.Size-t.Offset {
			return fmt.Errorf("%v: bytes %d+%d of %d", t, t.Offset, t.Size, p.Size)
		}
		if (t.Offset-p.DataOffset)%p.Alignment != 0 {
			return fmt.Errorf("%v: offset %d is not aligned", t, t.Offset)
		}
		if t.Elements() <= 0 || t.Rows() <= 0 || t.Rows()*t.Dims[0] != t.Elements() {
			return fmt.Errorf("%v: %d elements in %d rows", t, t.Elements(), t.Rows())
		}
		if t.Type.Known() && t.Rows()*t.RowBytes() != t.Size {
			return fmt.Errorf("%v: %d rows of %d bytes in %d", t, t.Rows(), t.RowBytes(), t.Size)
		}
		if got, ok := f.Tensor(t.Name); !ok || got.Offset != t.Offset {
			return fmt.Errorf("%v: look-up gives %v", t, got)
		}
		if f.Section(t).Size() != t.Size {
			return fmt.Errorf("%v: section of %d bytes", t, f.Section(t).Size())
		}
		for _, u := range tensors[max(0, i-20):i] {
			if u.Part == t.Part && u.Offset < t.Offset+t.Size && t.Offset < u.Offset+u.Size {
				return fmt.Errorf("%v overlaps %v", t, u)
			}
		}
	}
	return nil
}

// allocated returns how many bytes f allocates, whether or not they are
// collected meanwhile.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// allowed is how many bytes opening a file of that size may allocate.
func allowed(size int) int64 { return 2*int64(size) + 16<<20 }
