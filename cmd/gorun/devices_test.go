package main

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"gorun/hipdyn"
)

func TestDevicesWithoutGPU(t *testing.T) {
	if _, err := os.Stat("/dev/kfd"); err == nil {
		t.Skip("this machine may have a GPU")
	}
	got := gorun("", "devices")
	if got.code != 0 || got.err != "" || !strings.Contains(got.out, "No GPU that gorun could use; models run on the CPU.\n- ") {
		t.Errorf("%+v", got)
	}
	var r devicesReport
	got = gorun("", "devices", "--json")
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 || r.Devices == nil || len(r.Devices) != 0 || len(r.Why) == 0 {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestDevicesEmulated(t *testing.T) {
	if hipdyn.Supported != nil {
		t.Skip(hipdyn.Supported)
	}
	got := gorun("", "devices", "--emulate", "gfx1201, gfx1151:1.5GiB")
	for _, want := range []string{"emulator of HIP 7.2.0", "0       Emulated gfx1201  gfx1201  0000:03:00.0  1.00 GiB  1.00 GiB  yes\n", "1.50 GiB  1.50 GiB"} {
		if got.code != 0 || !strings.Contains(got.out, want) {
			t.Errorf("%+v, want %q", got, want)
		}
	}
	for _, bad := range []string{"gfx900", "gfx1201:much", "gfx1201:-1", ","} {
		if got := gorun("", "devices", "--emulate", bad); got.code != exitUsage || !strings.Contains(got.err, "--emulate "+bad) {
			t.Errorf("%+v", got)
		}
	}
}

func TestDevicesReport(t *testing.T) {
	t.Setenv("HIP_VISIBLE_DEVICES", "0")
	system := hipdyn.System{
		Driver: errors.New("/dev/kfd may not be opened"),
		Nodes:  []hipdyn.Node{{GFX: "gfx906", PCI: "0000:03:00.0"}, {GFX: "gfx1100", PCI: "0000:04:00.0"}},
	}
	var r devicesReport
	r.read(library{nil, &hipdyn.NotLoaded{Tried: []error{errors.New("one: no"), errors.New("two: no")}}}, system, true)
	var out strings.Builder
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	want := `HIP_VISIBLE_DEVICES=0 decides which devices HIP shows
No GPU that gorun could use; models run on the CPU.
- no HIP runtime (libamdhip64) could be loaded
- /dev/kfd may not be opened
- the driver has a GPU at 0000:03:00.0: gfx906, for which gorun has no kernels (it has them for [gfx1030 gfx1100 gfx1151 gfx1201])
- the driver has a GPU at 0000:04:00.0: gfx1100, for which gorun has kernels

2 places were tried:
  one: no
  two: no
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}

	integrated := devicesReport{Devices: []deviceReport{{
		Info: hipdyn.Info{Name: "Strix Halo", GFX: "gfx1151", PCI: "0000:c5:00.0", TotalMemory: 64 << 30, Integrated: true},
		Card: &hipdyn.Card{VRAMTotal: 512 << 20, VRAMUsed: 100 << 20, GTTTotal: 60 << 30, GTTUsed: 1 << 30},
	}, {Info: hipdyn.Info{Index: 1, Name: "Old", GFX: "gfx906"}, Error: "hipMemGetInfo failed"}}}
	out.Reset()
	if err := integrated.print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"The driver counts 100 MiB of 512 MiB of its own in use, and 1.00 GiB of 60.0 GiB of the host's.", "none for gfx906", "device 1: hipMemGetInfo failed"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if system := hipdyn.ReadSystem(fstest.MapFS{}); system.Driver == nil || len(slices.Concat(system.Nodes)) != 0 {
		t.Errorf("%+v", system)
	}
}
