package hsaco

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
	"reflect"
	"strings"
	"testing"
)

// object is one of those that the emulator's tests use.
func object(t testing.TB, name string) []byte {
	t.Helper()
	z, err := zip.OpenReader("../testdata/objects.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := z.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParse(t *testing.T) {
	for _, target := range []string{"gfx1030", "gfx1100", "gfx1151", "gfx1201"} {
		o, err := Parse(object(t, "kernels."+target))
		if err != nil {
			t.Fatal(err)
		}
		if o.Target != target || len(o.Kernels) < 20 {
			t.Errorf("%s: target %s, %d kernels", target, o.Target, len(o.Kernels))
		}
		byName := map[string]*Kernel{}
		for _, k := range o.Kernels {
			byName[k.Name] = k
			if k.WaveSize != 32 || k.VGPRs == 0 || k.SGPRs == 0 || k.Size == 0 || k.FloatMode() != 0xf0 || k.AllocatedVGPRs() < k.VGPRs {
				t.Errorf("%s: %+v", target, k)
			}
		}
		k := byName["sum"]
		want := []Arg{{Offset: 0, Size: 8, Kind: "global_buffer", AddressSpace: "global"}, {Offset: 8, Size: 8, Kind: "global_buffer", AddressSpace: "global"}, {Offset: 16, Size: 4, Kind: "by_value"}}
		if k.LDS != 1024 || k.MaxWorkgroup != 256 || k.KernargSize != 20 || !reflect.DeepEqual(k.Args, want) || k.Hidden() != nil {
			t.Errorf("%s: sum: %+v", target, k)
		}
		if byName["scratch"].Scratch == 0 || len(byName["sizes"].Hidden()) == 0 {
			t.Errorf("%s: scratch %d, hidden arguments %v", target, byName["scratch"].Scratch, byName["sizes"].Hidden())
		}
		found := false
		for _, s := range o.Symbols {
			found = found || s.Name == "counter" && s.Size == 4
		}
		if !found {
			t.Errorf("%s: variables %v", target, o.Symbols)
		}
	}
}

// TestBadObjects: what is wrong is said, whatever it is.
func TestBadObjects(t *testing.T) {
	good := object(t, "faults.gfx1201")
	change := func(f func(b []byte) []byte) []byte { return f(bytes.Clone(good)) }
	replace := func(old, new string) []byte {
		if !bytes.Contains(good, []byte(old)) {
			t.Fatalf("the object does not contain %q", old)
		}
		return bytes.ReplaceAll(bytes.Clone(good), []byte(old), []byte(new))
	}
	for _, c := range []struct {
		object []byte
		want   string
	}{
		{nil, "not an ELF file"},
		{[]byte("__CLANG_OFFLOAD_BUNDLE__........"), "offload bundle"},
		{change(func(b []byte) []byte { b[18] = 62; return b }), "machine 62"},
		{change(func(b []byte) []byte { b[8] = 4; return b }), "ABI version 4"},
		{change(func(b []byte) []byte { binary.LittleEndian.PutUint32(b[48:], 0x33); return b }), "0x33"},
		{replace("amdgcn-amd-amdhsa--gfx1201", "amdgcn-amd-amdhsa--gfx1200"), "gfx1200"},
		{replace("amdhsa.kernels", "amdhsa.kernel2"), "lists no kernels"},
		{replace("copy.kd\x00", "kopy.kd\x00"), "no symbol copy.kd"},
		{replace(".kernarg_segment_size", ".kernarg_segment_sizX"), "ends at byte"},
		{good[:len(good)/2], "code object"},
	} {
		if _, err := Parse(c.object); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error is %v, want one with %q", err, c.want)
		}
	}
	// Every byte that is missing or changed gives an error or another object,
	// but no panic.
	for i := 0; i < len(good); i += 7 {
		_, _ = Parse(good[:i])
		_, _ = Parse(change(func(b []byte) []byte { b[i] ^= 0xff; return b }))
	}
}

func TestUnpack(t *testing.T) {
	for _, c := range []struct {
		data string
		want any
	}{
		{"\x05", uint64(5)}, {"\xff", int64(-1)}, {"\xc0", nil}, {"\xc3", true}, {"\xcd\x01\x02", uint64(258)}, {"\xcf\x00\x00\x00\x01\x00\x00\x00\x00", uint64(1 << 32)},
		{"\xd0\x80", int64(-128)}, {"\xd1\x00\x07", uint64(7)}, {"\xd3\xff\xff\xff\xff\xff\xff\xff\xfe", int64(-2)}, {"\xa3abc", "abc"}, {"\xd9\x02hi", "hi"}, {"\x92\x01\xa1x", []any{uint64(1), "x"}},
		{"\xdc\x00\x01\x02", []any{uint64(2)}}, {"\x81\xa1k\x90", map[string]any{"k": []any{}}}, {"\xde\x00\x01\xa1k\x01", map[string]any{"k": uint64(1)}},
	} {
		if got, err := unpack([]byte(c.data)); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: got %#v, %v; want %#v", c.data, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "\xa3ab", "\xdd\xff\xff\xff\xff", "\xdf\xff\xff\xff\xff\xa1k", "\x81\x01\x02", "\xc1", strings.Repeat("\x91", 100), "\xcb\x00", "\x01\x02\x03\x04\x05"} {
		if v, err := unpack([]byte(bad)); err == nil {
			t.Errorf("%q: got %v, want an error", bad, v)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(object(f, "faults.gfx1030"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if o, err := Parse(data); err == nil {
			for _, k := range o.Kernels {
				if k.Entry >= uint64(len(o.Image)) {
					t.Errorf("kernel %s begins at 0x%x of %d bytes", k.Name, k.Entry, len(o.Image))
				}
			}
		}
	})
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte("\x82\xa1k\x92\x01\x02\xa1l\xcd\x01\x02"))
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = unpack(data) })
}
