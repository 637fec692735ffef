//go:build linux && (amd64 || arm64) && !static

package hipdyn

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/ebitengine/purego"
)

// absolute is a device all of whose functions are C's labs, which returns zero
// for a null handle, and costs next to nothing.
func absolute(t testing.TB) *Device {
	address, err := purego.Dlsym(purego.RTLD_DEFAULT, "labs")
	if err != nil {
		t.Fatal(err)
	}
	f, err := resolve[hipFunctions](func(string) (uintptr, error) { return address, nil })
	if err != nil {
		t.Fatal(err)
	}
	d := &Device{Info: Info{BlockThreads: 1024, LDS: 1 << 16}, lib: &Library{hip: f}}
	if d.owner, err = newOwner(func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.owner.close)
	return d
}

// Arguments are laid out as in C.
func TestArgumentLayout(t *testing.T) {
	d := &Device{}
	b := &Buffer{dev: d, address: 0x1000, size: 100}
	a := NewArgs()
	a.Int64(-1).Int64(-1).Int64(-1).Int64(-1) // must leave no trace
	a.Reset().Int32(-2).Buffer(b, 5).Float32(1.5).Int64(-3).Int32(7)
	var want []byte
	ne := binary.NativeEndian
	want = ne.AppendUint32(want, math.MaxUint32-1)
	want = ne.AppendUint32(want, 0)
	want = ne.AppendUint64(want, 0x1005)
	want = ne.AppendUint32(want, math.Float32bits(1.5))
	want = ne.AppendUint32(want, 0)
	want = ne.AppendUint64(want, math.MaxUint64-2)
	want = ne.AppendUint32(want, 7)
	if got := string(a.buffer[:a.size]); got != string(want) {
		t.Errorf("% x, want % x", got, want)
	}
}

func TestLaunchErrors(t *testing.T) {
	d, other := absolute(t), absolute(t)
	m := &Module{dev: d, handle: 1}
	f := &Function{"kernel", m, 0}
	s := &Stream{dev: d, handle: 1}
	buffer := func(d *Device) *Buffer { return &Buffer{dev: d, address: 1, size: 100} }
	freed := buffer(d)
	freed.freed.Store(true)
	long := func() *Args {
		a := NewArgs()
		for range argumentBytes/8 + 1 {
			a.Int64(0)
		}
		return a
	}
	many := func() *Args {
		a := NewArgs()
		for range 33 {
			a.Buffer(buffer(d), 0)
		}
		return a
	}
	for _, c := range []struct {
		grid, block Dim
		lds         int
		args        *Args
		stream      *Stream
		want        string
	}{
		{Linear(0), Linear(1), 0, NewArgs(), s, "0 threads along an axis"},
		{Linear(1), Dim{1, 0, 1}, 0, NewArgs(), s, "0 threads along an axis"},
		{Linear(1 << 30), Linear(4), 0, NewArgs(), s, "4294967296 threads along an axis"},
		{Linear(1), Dim{32, 32, 2}, 0, NewArgs(), s, "2048 threads in a block: the device takes 1024"},
		{Linear(1), Linear(1), 1<<16 + 1, NewArgs(), s, "65537 bytes of LDS"},
		{Linear(1), Linear(1), -1, NewArgs(), s, "-1 bytes of LDS"},
		{Linear(1), Linear(1), 0, NewArgs().Buffer(buffer(other), 0), s, "a buffer of device"},
		{Linear(1), Linear(1), 0, NewArgs().Buffer(freed, 0), s, "freed"},
		{Linear(1), Linear(1), 0, NewArgs().Buffer(buffer(d), 100), s, "offset 100 into a buffer of 100 bytes"},
		{Linear(1), Linear(1), 0, NewArgs().Buffer(buffer(d), -1), s, "offset -1"},
		{Linear(1), Linear(1), 0, long(), s, "more than 512 bytes of arguments"},
		{Linear(1), Linear(1), 0, many(), s, "more than 32 buffers"},
		{Linear(1), Linear(1), 0, NewArgs(), &Stream{dev: other, handle: 1}, "it is loaded on device"},
		{Linear(1), Linear(1), 0, NewArgs(), &Stream{dev: d, closed: true}, "closed"},
	} {
		err := f.Launch(c.stream, c.grid, c.block, c.lds, c.args)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "kernel kernel") {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func BenchmarkLaunch(b *testing.B) {
	d := absolute(b)
	f := &Function{"kernel", &Module{dev: d, handle: 1}, 0}
	s, a, buffer := &Stream{dev: d, handle: 1}, NewArgs(), &Buffer{dev: d, address: 1, size: 100}
	launch := func() {
		if err := f.Launch(s, Linear(1), Linear(64), 0, a.Reset().Buffer(buffer, 0).Int32(1)); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("handed over", func(b *testing.B) {
		for b.Loop() {
			launch()
		}
	})
	b.Run("within Do", func(b *testing.B) {
		_ = d.Do(func() error {
			for b.Loop() {
				launch()
			}
			return nil
		})
	})
}
