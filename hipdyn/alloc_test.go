//go:build linux && (amd64 || arm64) && !static && !race

package hipdyn

import "testing"

// Under the race detector a sync.Pool forgets on purpose.
func TestLaunchAllocatesNothing(t *testing.T) {
	d := absolute(t)
	f := &Function{"kernel", &Module{dev: d, handle: 1}, 0}
	s, a, b := &Stream{dev: d, handle: 1}, NewArgs(), &Buffer{dev: d, address: 1, size: 100}
	launch := func() {
		a.Reset().Buffer(b, 4).Int32(1).Float32(2).Int64(3)
		if err := f.Launch(s, Dim{1, 2, 3}, Linear(64), 0, a); err != nil {
			t.Error(err)
		}
	}
	if n := testing.AllocsPerRun(1000, launch); n != 0 {
		t.Errorf("%v allocations for a launch from another thread", n)
	}
	err := d.Do(func() error {
		if n := testing.AllocsPerRun(1000, launch); n != 0 {
			t.Errorf("%v allocations for a launch from the device's thread", n)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
