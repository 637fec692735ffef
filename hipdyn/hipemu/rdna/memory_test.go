package rdna

import (
	"errors"
	"strings"
	"testing"
)

func TestMemory(t *testing.T) {
	m := NewMemory(1 << 20)
	a, err := m.Alloc(1000)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := m.Undefined(a, 1000); !ok {
		t.Error("fresh memory counts as written")
	}
	b := make([]byte, 1000)
	if err := m.Read(b, a); err != nil || b[0] != poison || b[999] != poison {
		t.Errorf("fresh memory: %v, %x %x", err, b[0], b[999])
	}
	if err := m.Write(a, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	if va, ok := m.Undefined(a, 1000); ok {
		t.Errorf("written memory: 0x%x counts as not written", va)
	}
	c, _ := m.Alloc(2000)
	if c-a < 1000+guard {
		t.Errorf("allocations at 0x%x and 0x%x: no gap", a, c)
	}
	if err := m.Copy(c+500, a, 1000); err != nil {
		t.Fatal(err)
	}
	if va, ok := m.Undefined(c+500, 1500); !ok || va != c+1500 {
		t.Errorf("copy: first undefined byte 0x%x, %v; want 0x%x", va, ok, c+1500)
	}
	var oom *OutOfMemory
	if _, err := m.Alloc(1 << 20); !errors.As(err, &oom) || oom.Free != 1<<20-1024-2048 {
		t.Errorf("allocation beyond the limit: %v", err)
	}
	var access *AccessError
	if err := m.Read(b, a+1); !errors.As(err, &access) || !strings.Contains(err.Error(), "ends 1 bytes beyond") {
		t.Errorf("read beyond the end: %v", err)
	}
	if err := m.Free(a); err != nil {
		t.Fatal(err)
	}
	if err := m.Read(b, a); !errors.As(err, &access) || !strings.Contains(err.Error(), "freed") {
		t.Errorf("read of freed memory: %v", err)
	}
	if err := m.Free(a); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("second free: %v", err)
	}
	if m.Used() != 2048 {
		t.Errorf("used %d bytes", m.Used())
	}
}

func TestPeersAndHost(t *testing.T) {
	m, p := NewMemory(1<<20), NewMemory(1<<20)
	a, _ := p.Alloc(100)
	b := make([]byte, 100)
	if err := m.Read(b, a); err == nil {
		t.Error("a device reads another's memory without being a peer")
	}
	m.AttachPeer(p)
	if err := m.Read(b, a); err != nil {
		t.Error(err)
	}
	m.DetachPeer(p)
	if err := m.Read(b, a); err == nil {
		t.Error("a device reads the memory of a peer that was detached")
	}
	host := make([]byte, 64)
	if err := m.MapHost(0x7000, host); err != nil {
		t.Fatal(err)
	}
	if err := m.Write(0x7010, []byte{1, 2, 3}); err != nil || host[0x12] != 3 {
		t.Errorf("write to host memory: %v, %v", err, host)
	}
	if err := m.MapHost(0x7020, host); err == nil {
		t.Error("mappings overlap")
	}
	if err := m.UnmapHost(0x7000); err != nil {
		t.Fatal(err)
	}
	if err := m.Write(0x7010, []byte{1}); err == nil {
		t.Error("write to memory that is not mapped")
	}
}
