package hipdyn_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"gorun/hipdyn"
	"gorun/hipdyn/abi"
	"gorun/hipdyn/hipemu"
)

// emulate opens a library on an emulator. At the end of the test the emulator
// must have found nothing, unless faulty is true.
func emulate(t *testing.T, c hipemu.Config, faulty bool) (*hipdyn.Library, *hipemu.Emulator) {
	t.Helper()
	if hipdyn.Supported != nil {
		t.Skip(hipdyn.Supported)
	}
	e, err := hipemu.New(c)
	if err != nil {
		t.Fatal(err)
	}
	lib, err := hipdyn.OpenSource(e.Source())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lib.Close(); err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil && !faulty {
			t.Error("the emulator found:", err)
		}
	})
	return lib, e
}

func gpus(names ...string) hipemu.Config {
	var c hipemu.Config
	for _, n := range names {
		c.GPUs = append(c.GPUs, hipemu.GPU{GFX: n})
	}
	return c
}

// open opens a library and its devices.
func open(t *testing.T, c hipemu.Config, faulty bool) ([]*hipdyn.Device, *hipemu.Emulator) {
	t.Helper()
	lib, e := emulate(t, c, faulty)
	devices, err := lib.Devices()
	if err != nil {
		t.Fatal(err)
	}
	return devices, e
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// wantError checks that an error has a text in it.
func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, want one with %q", err, text)
		}
	}
}

// pattern is n bytes that differ.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

var releases = []abi.Version{5_02_21153, 6_03_42131, 7_02_00000, 10_00_00000}

func TestReleases(t *testing.T) {
	for _, v := range releases {
		t.Run(v.String(), func(t *testing.T) {
			c := gpus("gfx1030", "gfx1151")
			c.GPUs[0].Name, c.GPUs[0].Memory, c.Runtime = "Big Navi", 5<<30, v
			lib, _ := emulate(t, c, false)
			if lib.Runtime != v || lib.Driver != v {
				t.Errorf("runtime %v, driver %v", lib.Runtime, lib.Driver)
			}
			devices := must(lib.Devices())(t)
			want := hipdyn.Info{
				Index: 0, Name: "Big Navi", GFX: "gfx1030", PCI: "0000:03:00.0", TotalMemory: 5 << 30,
				ComputeUnits: 32, WaveSize: 32, BlockThreads: 1024, LDS: 64 << 10, LargeBAR: true, Virtual: true,
			}
			if devices[0].Info != want {
				t.Errorf("device 0 is %+v, want %+v", devices[0].Info, want)
			}
			if i := devices[1].Info; !i.Integrated || i.GFX != "gfx1151" || i.PCI != "0000:04:00.0" {
				t.Errorf("device 1 is %+v", i)
			}
			free, total, err := devices[0].Memory()
			if err != nil || free != 5<<30 || total != 5<<30 {
				t.Errorf("memory: %d of %d free, %v", free, total, err)
			}
		})
	}
}

func TestNoDevices(t *testing.T) {
	lib, _ := emulate(t, hipemu.Config{}, false)
	devices, err := lib.Devices()
	if len(devices) != 0 || !errors.Is(err, abi.InvalidDevice) {
		t.Errorf("%d devices, %v", len(devices), err)
	}
	_, err = lib.Device("0")
	wantError(t, err, `device "0"`, "hipInit", "hipErrorInvalidDevice (101)")
	if lib.Runtime == 0 {
		t.Error("the version is known without devices")
	}
}

func TestVisibleDevices(t *testing.T) {
	for list, want := range map[string][]string{
		"1": {"gfx1100"}, "2,0": {"gfx1201", "gfx1030"}, "0,7,1": {"gfx1030"}, "": nil, "-1": nil,
	} {
		t.Setenv("HIP_VISIBLE_DEVICES", list)
		lib, _ := emulate(t, gpus("gfx1030", "gfx1100", "gfx1201"), false)
		devices, _ := lib.Devices()
		var got []string
		for i, d := range devices {
			got = append(got, d.GFX)
			if d.Index != i {
				t.Errorf("%q: device %d has index %d", list, i, d.Index)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %v, want %v", list, got, want)
		}
	}
}

func TestChooseDevice(t *testing.T) {
	c := gpus("gfx1030", "gfx1201", "gfx1201")
	c.GPUs[0].Name, c.GPUs[1].Name = "AMD Radeon RX 6800", "AMD Radeon RX 9070"
	lib, _ := emulate(t, c, false)
	for which, want := range map[string]int{
		"0": 0, "2": 2, "gfx1030": 0, "GFX1030": 0, "0000:04:00.0": 1, "05:00.0": 2, "rx 9070": 1, "Radeon RX 6": 0,
	} {
		d, err := lib.Device(which)
		if err != nil || d.Index != want {
			t.Errorf("%q is %v, %v; want %d", which, d, err, want)
		}
	}
	for which, want := range map[string]string{
		"3": "device 3: there are 0 (gfx1030, AMD Radeon RX 6800) at 0000:03:00.0; 1", "-1": "device -1",
		"gfx1201": "may be 1 (gfx1201, AMD Radeon RX 9070) at 0000:04:00.0; 2", "radeon": "may be", "gfx900": "there are", "": "there are",
	} {
		_, err := lib.Device(which)
		wantError(t, err, want)
	}
}

func TestCopies(t *testing.T) {
	devices, _ := open(t, gpus("gfx1201"), false)
	d := devices[0]
	s := must(d.NewStream())(t)
	data := pattern(3<<20 + 5) // more than what Write and Read stage at once
	b := must(d.Alloc(int64(len(data)) + 100))(t)
	check(t, s.Write(b, 100, data))
	check(t, s.Copy(b, 0, b, 110, 50))
	check(t, s.Fill(b, 60, 20, 0x5a))
	got := make([]byte, len(data)+100)
	check(t, s.Read(got[:80], b, 0))
	check(t, s.Read(got[100:], b, 100))
	if !bytes.Equal(got[100:], data) || !bytes.Equal(got[:50], data[10:60]) || !bytes.Equal(got[60:80], bytes.Repeat([]byte{0x5a}, 20)) {
		t.Error("wrong bytes")
	}
	for _, c := range [][2]int64{{-1, 5}, {0, b.Size() + 1}, {b.Size(), 1}, {1, math.MaxInt64}, {5, -1}} {
		wantError(t, s.Fill(b, c[0], c[1], 0), fmt.Sprintf("%d bytes at %d of a buffer of %d", c[1], c[0], b.Size()))
	}
	check(t, s.Fill(b, b.Size(), 0, 0), b.Free(), s.Close())
	wantError(t, s.Fill(b, 0, 1, 0), "freed")
	wantError(t, b.Free(), "freed")
	wantError(t, s.Synchronize(), "closed")
	if _, err := d.Alloc(0); err == nil {
		t.Error("allocated nothing")
	}
}

// Work is later than the call that enqueues it.
func TestWorkIsLate(t *testing.T) {
	for _, eager := range []bool{false, true} {
		c := gpus("gfx1100")
		c.Eager = eager
		devices, _ := open(t, c, false)
		d := devices[0]
		s, b, p := must(d.NewStream())(t), must(d.Alloc(1<<20))(t), must(d.AllocPinned(1<<20))(t)
		end := must(d.NewEvent(false))(t)
		clear(p.Bytes())
		check(t, s.Fill(b, 0, 1<<20, 9), s.CopyOut(p, 0, b, 0, 1<<20), s.Record(end))
		if !eager && p.Bytes()[1<<20-1] == 9 { // an eager one may be writing it
			t.Error("the copy was made at once")
		}
		done, err := s.Done()
		if err != nil || done && !eager {
			t.Errorf("done: %v, %v", done, err)
		}
		for !done && err == nil {
			done, err = end.Done()
		}
		if err != nil || p.Bytes()[1<<20-1] != 9 {
			t.Errorf("after the event: %d, %v", p.Bytes()[1<<20-1], err)
		}
		// The source of a copy belongs to the device until it is done.
		p.Bytes()[0] = 1
		check(t, s.CopyIn(b, 0, p, 0, 1))
		if !eager {
			p.Bytes()[0] = 2
		}
		got := make([]byte, 1)
		check(t, s.Read(got, b, 0))
		if !eager && got[0] != 2 {
			t.Error("the copy read its source at once")
		}
		check(t, end.Close(), b.Free(), p.Free(), s.Close())
	}
}

// Two streams need an event between them.
func TestMissingStreamWait(t *testing.T) {
	for _, eager := range []bool{false, true} {
		for _, wait := range []bool{true, false} {
			t.Run(fmt.Sprintf("eager=%v,wait=%v", eager, wait), func(t *testing.T) {
				c := gpus("gfx1100")
				c.Eager = eager
				devices, e := open(t, c, !wait)
				d := devices[0]
				a, b := must(d.NewStream())(t), must(d.NewStream())(t)
				buffer, p := must(d.Alloc(4096))(t), must(d.AllocPinned(4096))(t)
				written := must(d.NewEvent(false))(t)
				check(t, a.Fill(buffer, 0, 4096, 1), a.Record(written))
				if wait {
					check(t, b.Wait(written))
				}
				err := b.CopyOut(p, 0, buffer, 0, 100)
				err = errors.Join(err, a.Synchronize(), b.Synchronize())
				if wait {
					check(t, err, written.Close(), buffer.Free(), p.Free(), a.Close(), b.Close())
					return
				}
				wantError(t, err, "hipErrorLaunchFailure (719) on device 0", "missing stream wait")
				if len(e.Findings()) != 1 {
					t.Error("findings:", e.Findings())
				}
				// The error stays.
				_, err = d.Alloc(1)
				wantError(t, err, "hipMalloc: hipErrorLaunchFailure (719) on device 0")
			})
		}
	}
}

// What the host has waited for comes before what it enqueues next.
func TestHostOrdersStreams(t *testing.T) {
	devices, _ := open(t, gpus("gfx1100"), false)
	d := devices[0]
	a, b := must(d.NewStream())(t), must(d.NewStream())(t)
	buffer := must(d.Alloc(4096))(t)
	check(t, a.Fill(buffer, 0, 4096, 1), a.Synchronize(), b.Fill(buffer, 0, 4096, 2))
	// Both only read; or they use different bytes.
	event := must(d.NewEvent(true))(t)
	check(t, b.Record(event), event.Synchronize())
	other := must(d.Alloc(4096))(t)
	check(t, a.Copy(other, 0, buffer, 0, 100), b.Copy(other, 100, buffer, 0, 100), a.Synchronize(), b.Synchronize())
	later := must(d.NewEvent(true))(t)
	check(t, a.Record(later))
	if _, err := later.Since(event); !errors.Is(err, abi.NotReady) {
		t.Error("time to an event that is not reached:", err)
	}
	check(t, later.Synchronize())
	if elapsed := must(later.Since(event))(t); elapsed < 0 {
		t.Error("elapsed", elapsed)
	}
	check(t, event.Close(), later.Close(), buffer.Free(), other.Free(), a.Close(), b.Close())
}

func TestOutOfMemory(t *testing.T) {
	c := gpus("gfx1030")
	c.GPUs[0].Memory = 1 << 20
	devices, _ := open(t, c, false)
	d := devices[0]
	b := must(d.Alloc(700 << 10))(t)
	_, err := d.Alloc(700 << 10)
	if !errors.Is(err, abi.OutOfMemory) {
		t.Error(err)
	}
	wantError(t, err, "716800 bytes: hipMalloc: hipErrorOutOfMemory (2) on device 0")
	if free, _, _ := d.Memory(); free != 324<<10 {
		t.Error("free:", free)
	}
	check(t, b.Free())
	b = must(d.Alloc(1 << 20))(t)
	check(t, b.Free())
}

func TestInjectedErrors(t *testing.T) {
	devices, e := open(t, gpus("gfx1201"), true)
	d := devices[0]
	s, b := must(d.NewStream())(t), must(d.Alloc(16))(t)
	e.Fail(hipemu.Failure{Call: "hipMemsetAsync", Nth: 2, Code: abi.OutOfMemory})
	check(t, s.Fill(b, 0, 16, 1))
	err := s.Fill(b, 0, 16, 2)
	var failed *hipdyn.Error
	if !errors.As(err, &failed) || failed.Call != "hipMemsetAsync" || failed.Name() != "hipErrorOutOfMemory" || failed.Device != 0 {
		t.Errorf("%#v", err)
	}
	check(t, s.Fill(b, 0, 16, 3), s.Synchronize())

	e.Fail(hipemu.Failure{Call: "hipMemcpyAsync", Nth: 1, Code: abi.IllegalAddress, Late: true})
	got := make([]byte, 1)
	if err := s.Read(got, b, 0); !errors.Is(err, abi.IllegalAddress) {
		t.Error("late:", err)
	}
	if err := b.Free(); !errors.Is(err, abi.IllegalAddress) {
		t.Error("sticky:", err)
	}
}

func TestClosedLibrary(t *testing.T) {
	lib, _ := emulate(t, gpus("gfx1201"), false)
	d := must(lib.Device("0"))(t)
	b := must(d.Alloc(16))(t)
	check(t, b.Free(), lib.Close(), lib.Close())
	if _, err := d.Alloc(16); !errors.Is(err, hipdyn.ErrClosed) {
		t.Error(err)
	}
}

func TestOwnerThread(t *testing.T) {
	devices, _ := open(t, gpus("gfx1030", "gfx1201"), false)
	// Calls from many goroutines reach the right devices.
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			d := devices[i%2]
			b, err := d.Alloc(int64(100 + i))
			if err != nil {
				t.Error(err)
				return
			}
			s, err := d.NewStream()
			if err != nil {
				t.Error(err)
				return
			}
			data, got := pattern(100+i), make([]byte, 100+i)
			err = d.Do(func() error {
				return errors.Join(s.Write(b, 0, data), d.Do(func() error { return s.Read(got, b, 0) }))
			})
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d: %v", i, err)
			}
			if err := errors.Join(s.Close(), b.Free()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	err := devices[0].Do(func() error { panic("oh") })
	wantError(t, err, "panic in a device's thread: oh")
	check(t, devices[0].Synchronize())
	// A buffer of one device on a stream of another.
	b, s := must(devices[0].Alloc(16))(t), must(devices[1].NewStream())(t)
	wantError(t, s.Fill(b, 0, 1, 0), "a buffer of device 0 (gfx1030, Emulated gfx1030) on device 1")
	check(t, b.Free(), s.Close())
}

func TestPinMemory(t *testing.T) {
	devices, _ := open(t, gpus("gfx1201"), false)
	d := devices[0]
	memory := pattern(5000)
	p := must(d.PinMemory(memory))(t)
	s, b := must(d.NewStream())(t), must(d.Alloc(5000))(t)
	got := make([]byte, 5000)
	check(t, s.CopyIn(b, 0, p, 0, 5000), s.Read(got, b, 0))
	if !bytes.Equal(got, memory) {
		t.Error("wrong bytes")
	}
	wantError(t, s.CopyIn(b, 0, p, 4999, 2), "2 bytes at 4999 of 5000 bytes of pinned memory")
	check(t, p.Free(), b.Free(), s.Close())
	wantError(t, s.CopyIn(b, 0, p, 0, 1), "freed")
	if _, err := d.PinMemory(nil); err == nil {
		t.Error("pinned nothing")
	}
}

func TestLinks(t *testing.T) {
	const size = 5<<20 + 3
	for _, c := range []struct {
		gpus   []string
		direct bool
	}{{[]string{"gfx1100", "gfx1100"}, true}, {[]string{"gfx1030", "gfx1201"}, false}, {[]string{"gfx1100", "gfx1151"}, false}} {
		for _, eager := range []bool{false, true} {
			config := gpus(c.gpus...)
			config.Eager = eager
			devices, _ := open(t, config, false)
			from, to := must(devices[0].NewStream())(t), must(devices[1].NewStream())(t)
			a, b := must(devices[0].Alloc(size))(t), must(devices[1].Alloc(size))(t)
			link := must(hipdyn.NewLink(from, to))(t)
			if link.Direct() != c.direct {
				t.Errorf("%v: direct %v", c.gpus, link.Direct())
			}
			data, got := pattern(size), make([]byte, size)
			check(t, from.Write(a, 0, data))
			// Work before and after the copy on both sides is in order with it.
			check(t, to.Fill(b, 0, size, 0), link.Copy(b, 0, a, 0, size), from.Fill(a, 0, size, 0), to.Read(got, b, 0))
			if !bytes.Equal(got, data) {
				t.Errorf("%v: wrong bytes", c.gpus)
			}
			check(t, link.Copy(b, 10, a, 0, 5), to.Read(got[:20], b, 0))
			if want := append(append(bytes.Clone(data[:10]), 0, 0, 0, 0, 0), data[15:20]...); !bytes.Equal(got[:20], want) {
				t.Errorf("%v: %v, want %v", c.gpus, got[:20], want)
			}
			wantError(t, link.Copy(b, 0, a, 0, size+1), "of a buffer of")
			check(t, link.Close(), a.Free(), b.Free(), from.Close(), to.Close())
		}
	}
}

func TestVirtualMemory(t *testing.T) {
	c := gpus("gfx1201")
	c.GPUs[0].Memory = 64 << 20
	devices, _ := open(t, c, false)
	d := devices[0]
	r := must(d.Reserve(40<<20 + 1))(t)
	if r.Reserved() != 42<<20 {
		t.Error("reserved:", r.Reserved())
	}
	s := must(d.NewStream())(t)
	for i, size := range []int64{1, 3 << 20, 20 << 20} {
		from := r.Buffer().Size()
		check(t, r.Commit(size))
		check(t, s.Fill(r.Buffer(), from, r.Buffer().Size()-from, byte(i+1)))
	}
	if r.Buffer().Size() != 20<<20 {
		t.Error("committed:", r.Buffer().Size())
	}
	got := make([]byte, 20<<20)
	check(t, s.Read(got, r.Buffer(), 0))
	for at, want := range map[int]byte{0: 1, 2<<20 - 1: 1, 2 << 20: 2, 4<<20 - 1: 2, 4 << 20: 3, 20<<20 - 1: 3} {
		if got[at] != want {
			t.Errorf("byte %d is %d, want %d", at, got[at], want)
		}
	}
	wantError(t, s.Fill(r.Buffer(), 20<<20, 1, 0), "of a buffer of")
	wantError(t, r.Commit(43<<20), "of a range of")
	big := must(d.Reserve(100 << 20))(t)
	if err := big.Commit(60 << 20); !errors.Is(err, abi.OutOfMemory) {
		t.Error(err)
	}
	wantError(t, r.Buffer().Free(), "belongs to a Range")
	check(t, s.Close(), r.Free(), big.Free())
	if free, _, _ := d.Memory(); free != 64<<20 {
		t.Error("free:", free)
	}
}

func TestVirtualMemoryThatDoesNotWork(t *testing.T) {
	c := gpus("gfx1201")
	c.Runtime = 5_07_00000
	devices, _ := open(t, c, false)
	_, err := devices[0].Reserve(1)
	wantError(t, err, "needs ROCm 6, this is 5.7.0")

	devices, e := open(t, gpus("gfx1201"), false)
	e.Fail(hipemu.Failure{Call: "hipMemSetAccess", Nth: 2, Code: abi.InvalidValue})
	_, err = devices[0].Reserve(1)
	wantError(t, err, "does not work here", "hipMemSetAccess: hipErrorInvalidValue (1)")
	if _, again := devices[0].Reserve(1); again == nil || again.Error() != err.Error() {
		t.Error("the second time:", again)
	}
}

func TestBLAS(t *testing.T) {
	const m, n, k = 5, 3, 7
	for _, v := range releases {
		for _, f := range []hipdyn.Float{hipdyn.F32, hipdyn.BF16, hipdyn.F16} {
			c := gpus("gfx1100")
			c.Runtime = v
			devices, _ := open(t, c, false)
			d := devices[0]
			s := must(d.NewStream())(t)
			blas := must(s.NewBLAS())(t)
			element := func(x int) []byte { // small integers
				switch f {
				case hipdyn.F32:
					return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x)))
				case hipdyn.BF16:
					return binary.LittleEndian.AppendUint16(nil, uint16(math.Float32bits(float32(x))>>16))
				}
				return binary.LittleEndian.AppendUint16(nil, [...]uint16{0, 0x3c00, 0x4000, 0x4200}[x])
			}
			var a, w []byte
			for i := range m * k {
				a = append(a, element(i%4)...)
			}
			for i := range n * k {
				w = append(w, element(i*i%3)...)
			}
			ab, wb, cb := must(d.Alloc(int64(len(a))))(t), must(d.Alloc(int64(len(w))))(t), must(d.Alloc(4*m*n+8))(t)
			got := make([]byte, 4*m*n)
			check(t, s.Write(ab, 0, a), s.Write(wb, 0, w), blas.Mul(m, n, k, f, cb, 8, ab, 0, wb, 0), s.Read(got, cb, 8))
			for i := range m * n {
				want := 0
				for j := range k {
					want += (i/n*k + j) % 4 * ((i%n*k + j) * (i%n*k + j) % 3)
				}
				if v := math.Float32frombits(binary.LittleEndian.Uint32(got[4*i:])); v != float32(want) {
					t.Errorf("%v: element %d is %v, want %d", f, i, v, want)
				}
			}
			wantError(t, blas.Mul(m, n, k, f, cb, 9, ab, 0, wb, 0), "of a buffer of")
			wantError(t, blas.Mul(0, n, k, f, cb, 0, ab, 0, wb, 0), "0 rows")
			check(t, blas.Close(), ab.Free(), wb.Free(), cb.Free())
			wantError(t, blas.Mul(m, n, k, f, cb, 0, ab, 0, wb, 0), "closed")
			check(t, s.Close())
		}
	}
}

// A hipBLAS of another generation than its name says is found out.
func TestBLASOfWrongGeneration(t *testing.T) {
	if hipdyn.Supported != nil {
		t.Skip(hipdyn.Supported)
	}
	for v, major := range map[abi.Version]int{5_07_00000: 3, 7_02_00000: 2} {
		c := gpus("gfx1100")
		c.Runtime = v
		e := must(hipemu.New(c))(t)
		source := e.Source()
		r := source.HIP
		source.BLAS = func(int) (hipdyn.Resolver, int, error) { return r, major, nil }
		lib := must(hipdyn.OpenSource(source))(t)
		d := must(lib.Device("0"))(t)
		s := must(d.NewStream())(t)
		_, err := s.NewBLAS()
		wantError(t, err, "hipBLAS failed its self-test", "HIPBLAS_STATUS_INVALID_ENUM (10)")
		check(t, s.Close(), lib.Close(), e.Close())
	}
	devices, _ := open(t, hipemu.Config{GPUs: []hipemu.GPU{{GFX: "gfx1201"}}, NoBLAS: true}, false)
	s := must(devices[0].NewStream())(t)
	_, err := s.NewBLAS()
	wantError(t, err, "has no hipBLAS")
	check(t, s.Close())
}
