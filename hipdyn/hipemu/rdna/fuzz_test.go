package rdna

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"gorun/hipdyn/hipemu/rdna/isa"
)

// FuzzLoad: no file makes the loader panic, and kernels of files that load can
// be launched, or are refused.
func FuzzLoad(f *testing.F) {
	for _, target := range isa.Targets {
		f.Add(object(f, "faults", target))
	}
	f.Add([]byte("\x7fELF"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Load(data)
		if err != nil {
			return
		}
		for _, k := range m.Kernels() {
			mem := NewMemory(1 << 20)
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			_, _ = k.Launch(ctx, LaunchConfig{Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{32, 1, 1}}, make([]byte, k.KernargSize), mem)
			cancel()
		}
	})
}

// FuzzExecute: no instruction makes the emulator panic other than by the stop
// that Launch recovers.
func FuzzExecute(f *testing.F) {
	for i, target := range isa.Targets {
		m, err := Load(object(f, "kernels", target))
		if err != nil {
			f.Fatal(err)
		}
		text := m.object.Text[0]
		code := m.object.Image[text.Addr : text.Addr+text.Size]
		for at := 0; at+16 <= len(code); at += 404 {
			f.Add(uint8(i), code[at:at+16])
		}
	}
	f.Fuzz(func(t *testing.T, target uint8, code []byte) {
		r := newRig(t, isa.Targets[int(target)%len(isa.Targets)])
		in, err := r.set.Decode(code)
		if err != nil {
			return
		}
		if in.String() == "" {
			t.Fatal("no text")
		}
		var words []uint32
		for i := 0; i < in.Size; i += 4 {
			words = append(words, binary.LittleEndian.Uint32(code[i:]))
		}
		_ = r.tryAny(words...)
	})
}
