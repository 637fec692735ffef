package arena

import "testing"

func TestArena(t *testing.T) {
	for _, size := range []int64{0, 1, 4096, 1<<20 + 3} {
		a, err := New(size)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(a.Bytes())) != size {
			t.Fatalf("New(%d) has %d bytes", size, len(a.Bytes()))
		}
		for i, b := range a.Bytes() {
			if b != 0 {
				t.Fatalf("byte %d of %d is %d, want 0", i, size, b)
			}
			a.Bytes()[i] = 1
		}
		for range 2 {
			if err := a.Free(); err != nil {
				t.Fatal(err)
			}
		}
		if a.Bytes() != nil {
			t.Fatal("bytes remain after Free")
		}
	}
}

func TestRefused(t *testing.T) {
	for _, size := range []int64{-1, 1 << 62} {
		if _, err := New(size); err == nil {
			t.Errorf("New(%d) succeeded", size)
		}
	}
}
