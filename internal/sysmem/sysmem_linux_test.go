package sysmem

import "testing"

func TestAvailable(t *testing.T) {
	n, ok := Available()
	if !ok || n <= 0 {
		t.Fatalf("Available() = %d, %v", n, ok)
	}
}

func TestMemAvailable(t *testing.T) {
	n, ok := memAvailable([]byte("MemTotal:  8 kB\nMemFree: 1 kB\nMemAvailable:    3 kB\n"))
	if !ok || n != 3<<10 {
		t.Errorf("got %d, %v", n, ok)
	}
	if _, ok := memAvailable([]byte("MemTotal: 8 kB\n")); ok {
		t.Error("found a line that is not there")
	}
}
