package rdna

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gorun/hipdyn/hipemu/rdna/isa"
)

// TestPlantedFaults runs kernels with mistakes; each has to be found, and the
// right kernel beside it has to pass.
func TestPlantedFaults(t *testing.T) {
	for _, target := range isa.Targets {
		t.Run(target, func(t *testing.T) {
			x := make([]float32, 128)
			for i := range x {
				x[i] = float32(i)
			}
			fresh := func() *bench { return newBench(t, object(t, "faults", target)) }
			find := func(err error, want any, texts ...string) {
				t.Helper()
				var f *Fault
				if !errors.As(err, &f) || !errors.As(err, want) {
					t.Fatalf("found %v, want a fault with a %T", err, want)
				}
				if f.Inst == "" || f.PC == 0 || f.Kernel == "" {
					t.Errorf("the fault does not say where: %#v", f)
				}
				for _, s := range texts {
					if !strings.Contains(err.Error(), s) {
						t.Errorf("%q does not contain %q", err, s)
					}
				}
			}
			one := LaunchConfig{Grid: [3]uint32{2}, Block: [3]uint32{64}}

			// Nothing is found where nothing is wrong.
			b := fresh()
			in, out := put(b, x), room[float32](b, 128)
			if _, err := b.try("copy", one, out, in, 128); err != nil {
				t.Fatal(err)
			}
			var access *AccessError
			// Reads past the end: the size is wrong by one, and the input is short.
			b = fresh()
			_, err := b.try("copy", one, room[float32](b, 128), put(b, x[:127]), 128)
			find(err, &access, "read", "beyond the end", "lane 31")
			// Writes past the end.
			b = fresh()
			_, err = b.try("copy", one, room[float32](b, 100), put(b, x), 128)
			find(err, &access, "write", "beyond the end")
			// A wrong grid.
			b = fresh()
			in, out = put(b, x), room[float32](b, 128)
			_, err = b.try("copyAll", LaunchConfig{Grid: [3]uint32{3}, Block: [3]uint32{64}}, out, in)
			find(err, &access, "work-group 2,0,0")
			// Too small a grid leaves results unwritten.
			b = fresh()
			in, out = put(b, x), room[float32](b, 128)
			if _, err = b.try("copyAll", LaunchConfig{Grid: [3]uint32{1}, Block: [3]uint32{64}}, out, in); err != nil {
				t.Fatal(err)
			}
			if at, ok := b.mem.Undefined(out, 512); !ok || at != out+256 {
				t.Error("a grid that is too small is not seen")
			}
			// Use after free.
			b = fresh()
			in, out = put(b, x), room[float32](b, 128)
			if err := b.mem.Free(in); err != nil {
				t.Fatal(err)
			}
			_, err = b.try("copy", one, out, in, 128)
			find(err, &access, "freed")
			// A null pointer.
			b = fresh()
			_, err = b.try("copy", one, uint64(0), put(b, x), 128)
			find(err, &access, "null pointer")
			// Memory that was never written.
			var undefined *UndefinedError
			b = fresh()
			_, err = b.try("copy", one, room[float32](b, 128), room[float32](b, 128), 128)
			find(err, &undefined, "global memory")
			b = fresh()
			ignoring := one
			ignoring.Ignore = UndefinedMemory
			if _, err = b.try("copy", ignoring, room[float32](b, 128), room[float32](b, 128), 128); err != nil {
				t.Error(err)
			}
			// LDS.
			single := LaunchConfig{Grid: [3]uint32{1}, Block: [3]uint32{64}}
			var race *RaceError
			b = fresh()
			_, err = b.try("noBarrier", single, room[float32](b, 64), put(b, x))
			var raced = errors.As(err, &race)
			if !raced {
				// The other wave has not written yet.
				find(err, &undefined, "LDS")
			}
			b = fresh()
			single.Ignore = UndefinedLDS
			_, err = b.try("noBarrier", single, room[float32](b, 64), put(b, x))
			find(err, &race, "race in LDS")
			single.Ignore = 0
			b = fresh()
			if _, err = b.try("withBarrier", single, room[float32](b, 64), put(b, x)); err != nil {
				t.Error(err)
			}
			b = fresh()
			_, err = b.try("unwrittenLDS", single, room[float32](b, 64), put(b, x))
			find(err, &undefined, "LDS")
			// Arguments that are missing.
			b = fresh()
			if _, err = b.try("copy", one, out, in); err == nil || !strings.Contains(err.Error(), "bytes of arguments") {
				t.Errorf("missing argument: %v", err)
			}
			// Sizes that cannot be.
			for _, cfg := range []LaunchConfig{{Grid: [3]uint32{1}, Block: [3]uint32{128}}, {Grid: [3]uint32{1 << 31}, Block: [3]uint32{64}}, {Grid: [3]uint32{1}, Block: [3]uint32{64}, DynamicLDS: 1 << 17}} {
				if _, err := b.try("copy", cfg, out, in, 128); err == nil {
					t.Errorf("%+v: launched", cfg)
				}
			}
		})
	}
}

// TestSunkPermlane finds a real mistake of LLVM before 21: without
// -disable-machine-sink it moves a lane permutation into a branch, where the
// lanes that it reads from are off.
func TestSunkPermlane(t *testing.T) {
	x := make([]float32, 64)
	for i := range x {
		x[i] = float32(i + 1)
	}
	want := x[0] + x[16] + x[32] + x[48]
	for _, target := range isa.Targets {
		results := map[string]float32{}
		for _, name := range []string{"faults", "sunk"} {
			b := newBench(t, object(t, name, target))
			out := room[float32](b, 1)
			b.run("sunk", 1, 64, out, put(b, x))
			results[name] = get[float32](b, out, 1)[0]
		}
		if results["faults"] != want || results["sunk"] == want {
			t.Errorf("%s: compiled rightly and wrongly: %v; right is %g", target, results, want)
		}
	}
}

func TestCancel(t *testing.T) {
	b := newBench(t, object(t, "kernels", "gfx1201"))
	k, err := b.m.Kernel("branches")
	if err != nil {
		t.Fatal(err)
	}
	const n = 1 << 16
	x := make([]int32, n)
	for i := range x {
		x[i] = int32(i)
	}
	args := packArgs(room[int32](b, n), put(b, x), n)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err = k.Launch(ctx, LaunchConfig{Grid: [3]uint32{n / 64, 1, 1}, Block: [3]uint32{64, 1, 1}}, args, b.mem)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("launch ended with %v", err)
	}
}

// TestEndless: a kernel that never ends is ended by its context. (Its second
// wave leaves, the first goes on from barrier to barrier.)
func TestEndless(t *testing.T) {
	for _, target := range isa.Targets {
		b := newBench(t, object(t, "faults", target))
		k, err := b.m.Kernel("lostBarrier")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		_, err = k.Launch(ctx, LaunchConfig{Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{64, 1, 1}}, packArgs(put(b, []float32{0})), b.mem)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: ended with %v", target, err)
		}
	}
}
