package hipdyn

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"gorun/hipdyn/abi"
)

func dir() *fstest.MapFile { return &fstest.MapFile{Mode: fs.ModeDir | 0o755} }

// machine is a loader whose libraries are the paths given.
func machine(root fstest.MapFS, rocmPath string, has ...string) *loader {
	return &loader{root, rocmPath, func(path string) (Resolver, error) {
		if !slices.Contains(has, path) {
			return nil, fmt.Errorf("%s: cannot open shared object file: No such file or directory", path)
		}
		return func(name string) (uintptr, error) {
			if strings.HasPrefix(path, "/bad/") {
				return 0, fmt.Errorf("undefined symbol: %s", name)
			}
			return 1, nil
		}, nil
	}, func(string) string { return "" }}
}

func TestLoadOrder(t *testing.T) {
	root := fstest.MapFS{"opt/rocm/lib": dir(), "opt/rocm/core-7.9/lib": dir(), "opt/rocm/core-7.12/lib": dir(), "opt/rocm-6.3/lib": dir(), "mine/lib": dir(), "bad/lib": dir()}
	for _, c := range []struct{ rocmPath, has, want string }{
		{"", "libamdhip64.so.5 libamdhip64.so.6 libamdhip64.so.10", "libamdhip64.so.10"},
		{"", "libamdhip64.so.5 libamdhip64.so", "libamdhip64.so"},
		{"", "/opt/rocm/lib/libamdhip64.so.7 libamdhip64.so.5", "libamdhip64.so.5"},
		{"", "/opt/rocm/core-7.9/lib/libamdhip64.so /opt/rocm/core-7.12/lib/libamdhip64.so.7", "/opt/rocm/core-7.12/lib/libamdhip64.so.7"},
		{"", "/opt/rocm-6.3/lib/libamdhip64.so.6", "/opt/rocm-6.3/lib/libamdhip64.so.6"},
		{"/mine", "/mine/lib/libamdhip64.so.6 libamdhip64.so", "/mine/lib/libamdhip64.so.6"},
		{"/bad", "/bad/lib/libamdhip64.so libamdhip64.so.7", "libamdhip64.so.7"},
	} {
		s, err := machine(root, c.rocmPath, strings.Fields(c.has)...).load()
		if err != nil || s.Name != c.want {
			t.Errorf("%+v: %q, %v", c, s.Name, err)
		}
	}
}

func TestNothingToLoad(t *testing.T) {
	_, err := machine(fstest.MapFS{"opt/rocm/lib": dir()}, "/gone").load()
	var missing *NotLoaded
	if !errors.As(err, &missing) {
		t.Fatal(err)
	}
	text := err.Error()
	want := []string{"11 places were tried", "/gone/lib: no such directory"}
	for _, d := range []string{"", "/opt/rocm/lib/"} {
		for _, n := range []string{"", ".10", ".7", ".6", ".5"} {
			want = append(want, d+"libamdhip64.so"+n+": cannot open")
		}
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in %s", w, text)
		}
	}
}

func TestLoadBLAS(t *testing.T) {
	for _, c := range []struct {
		hip       int
		has, want string
		major     int
	}{
		{5, "/rocm/lib/libhipblas.so.1 /rocm/lib/libhipblas.so.0", "", 1},
		{5, "/rocm/lib/libhipblas.so.0", "", 0},
		{6, "/rocm/lib/libhipblas.so.2", "", 2},
		{7, "/rocm/lib/libhipblas.so.3", "", 3},
		{10, "/rocm/lib/libhipblas.so.4", "", 4},
		{7, "/rocm/lib/libhipblas.so.2 libhipblas.so.3", "no hipBLAS: /rocm/lib/libhipblas.so.3: cannot open", 0},
		{8, "", "no libhipblas is known for HIP 8", 0},
	} {
		_, major, err := machine(nil, "", strings.Fields(c.has)...).loadBLAS("/rocm/lib", c.hip)
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) || major != c.major {
			t.Errorf("%+v: %d, %v", c, major, err)
		}
	}
}

func TestMissingFunctions(t *testing.T) {
	_, err := OpenSource(Source{Name: "half a library", HIP: func(name string) (uintptr, error) {
		if strings.Contains(name, "Stream") {
			return 0, errors.New("undefined symbol")
		}
		return 1, nil
	}})
	if Supported != nil {
		t.Skip(Supported)
	}
	for _, want := range []string{"half a library lacks functions", "hipStreamCreateWithFlags: undefined symbol", "hipStreamQuery"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// debianLibrary is where Debian's package libamdhip64-5 puts the runtime. The
// continuous integration installs it.
const debianLibrary = "/usr/lib/x86_64-linux-gnu/libamdhip64.so.5"

// Each bound function exists in ROCm 5.2, or says since when it does.
func TestSymbolsOfDebian(t *testing.T) {
	f, err := elf.Open(debianLibrary)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("needs Debian's package libamdhip64-5")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			has[s.Name] = true
		}
	}
	hip, _ := Symbols()
	for _, s := range hip {
		if has[s.Name] != (s.Since == "") {
			t.Errorf("%s: in the library %v, since %q", s.Name, has[s.Name], s.Since)
		}
	}
}

// The real library without a device: it loads, tells its version, and why there
// are no devices.
func TestDebianWithoutDevice(t *testing.T) {
	if Supported != nil {
		t.Skip(Supported)
	}
	if _, err := os.Stat(debianLibrary); err != nil {
		t.Skip("needs Debian's package libamdhip64-5")
	}
	if _, err := os.Stat("/dev/kfd"); err == nil {
		t.Skip("there is a device")
	}
	r, err := dlopen(debianLibrary)
	if err != nil {
		t.Fatal(err)
	}
	l, err := OpenSource(Source{Name: debianLibrary, HIP: r})
	if err != nil {
		t.Fatal(err)
	}
	devices, err := l.Devices()
	if len(devices) != 0 || !errors.Is(err, abi.InvalidDevice) && !errors.Is(err, abi.NoDevice) {
		t.Errorf("%d devices, %v", len(devices), err)
	}
	if l.Runtime.Major() != 5 || l.Driver != l.Runtime {
		t.Errorf("runtime %v, driver %v", l.Runtime, l.Driver)
	}
	if path := mappedFile("libamdhip64.so"); !strings.HasPrefix(filepath.Base(path), "libamdhip64.so.5") {
		t.Errorf("it was loaded from %q", path)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestReadSystem(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	root := fstest.MapFS{
		"dev/kfd": file(""),
		"sys/class/kfd/kfd/topology/nodes/0/properties":        file("cpu_cores_count 16\ngfx_target_version 0\n"),
		"sys/class/kfd/kfd/topology/nodes/1/properties":        file("simd_count 80\ngfx_target_version 110501\nlocation_id 50432\ndomain 0\n"),
		"sys/class/kfd/kfd/topology/nodes/2/properties":        file("gfx_target_version 90010\nlocation_id 768\ndomain 1\n"),
		"sys/class/drm/card1/device/uevent":                    file("DRIVER=amdgpu\nPCI_SLOT_NAME=0000:c5:00.0\n"),
		"sys/class/drm/card1/device/mem_info_vram_total":       file("536870912\n"),
		"sys/class/drm/card1/device/mem_info_vram_used":        file("100000000\n"),
		"sys/class/drm/card1/device/mem_info_gtt_total":        file("66571993088\n"),
		"sys/class/drm/card1/device/mem_info_gtt_used":         file("20000000\n"),
		"sys/class/drm/card1-eDP-1/device/mem_info_vram_total": file("536870912\n"),
		"sys/class/drm/card0/device/uevent":                    file("DRIVER=simpledrm\n"),
	}
	s := ReadSystem(root)
	if s.Driver != nil {
		t.Error(s.Driver)
	}
	if want := []Node{{"gfx1151", "0000:c5:00.0"}, {"gfx90a", "0001:03:00.0"}}; !slices.Equal(s.Nodes, want) {
		t.Errorf("nodes %v, want %v", s.Nodes, want)
	}
	card := Card{"0000:c5:00.0", 536870912, 100000000, 66571993088, 20000000}
	if !slices.Equal(s.Cards, []Card{card}) {
		t.Errorf("cards %v", s.Cards)
	}
	if c, ok := s.Card("0000:c5:00.0"); !ok || c.Free(true) != 436870912+66551993088 || c.Free(false) != 436870912 {
		t.Errorf("card %v, %v", c, ok)
	}
	if _, ok := s.Card("0000:03:00.0"); ok {
		t.Error("found a card that is not there")
	}
	delete(root, "dev/kfd")
	if s = ReadSystem(root); s.Driver == nil || !strings.Contains(s.Driver.Error(), "/dev/kfd does not exist") {
		t.Error(s.Driver)
	}
	if s = ReadSystem(deniedFS{root}); s.Driver == nil || !strings.Contains(s.Driver.Error(), "usermod -aG render,video") {
		t.Error(s.Driver)
	}
}

// deniedFS lets nobody open /dev/kfd.
type deniedFS struct{ fstest.MapFS }

func (d deniedFS) Open(name string) (fs.File, error) {
	if name == "dev/kfd" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return d.MapFS.Open(name)
}

func TestCompareNumbered(t *testing.T) {
	sorted := []string{"rocm-5.7", "rocm-6.3", "rocm-6.3.1", "rocm-6.10", "rocm-10.0"}
	for i, a := range sorted {
		for j, b := range sorted {
			if got := compareNumbered(a, b); got != compare(i, j) {
				t.Errorf("%s, %s: %d", a, b, got)
			}
		}
	}
}

// A file that passes is long enough for what its header points at.
func FuzzCheckObject(f *testing.F) {
	object, err := os.ReadFile("../kernels/objects/rows.gfx1201.hsaco")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(object)
	f.Add(object[:len(object)-1])
	f.Add([]byte("\x7fELF\x02"))
	f.Fuzz(func(t *testing.T, object []byte) {
		if checkObject(object) != nil {
			return
		}
		le := binary.LittleEndian
		if end := le.Uint64(object[40:]) + uint64(le.Uint16(object[58:]))*uint64(le.Uint16(object[60:])); end > uint64(len(object)) {
			t.Errorf("%d bytes, the sections end at %d", len(object), end)
		}
	})
}

func TestCheckObject(t *testing.T) {
	object, err := os.ReadFile("../kernels/objects/rows.gfx1201.hsaco")
	if err != nil {
		t.Fatal(err)
	}
	if err := checkObject(object); err != nil {
		t.Error(err)
	}
	other := slices.Clone(object)
	other[18] = 62
	for _, c := range []struct {
		object []byte
		want   string
	}{{nil, "no 64-bit ELF"}, {object[:63], "no 64-bit ELF"}, {object[:len(object)-1], "cut off"}, {object[:64], "cut off"}, {other, "for machine 62"}} {
		if err := checkObject(c.object); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
