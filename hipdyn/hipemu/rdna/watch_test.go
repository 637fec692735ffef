package rdna

import (
	"reflect"
	"testing"
)

func TestWatch(t *testing.T) {
	m := NewMemory(1 << 20)
	va, err := m.Alloc(1001)
	if err != nil {
		t.Fatal(err)
	}
	r := m.find(va)
	var w Watch
	for _, a := range []struct {
		at, size uint64
		write    bool
	}{{0, 4, false}, {4, 8, false}, {13, 1, false}, {1000, 1, false}, {124, 16, true}, {996, 5, true}} {
		w.of(r).note(a.at, a.size, a.write)
	}
	want := []Use{{va, []Span{{va, va + 16}, {va + 1000, va + 1001}}, []Span{{va + 124, va + 140}, {va + 996, va + 1001}}}}
	if got := w.Uses(); !reflect.DeepEqual(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
	if w.of(&region{readers: true}) != nil || w.of(&region{module: &Module{}}) != nil {
		t.Error("arguments and images count")
	}
}
