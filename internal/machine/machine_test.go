package machine

import "testing"

func TestMeter(t *testing.T) {
	m, err := NewMeter(2)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		read, ops := m.Read(), m.MultiplyAdd()
		if read < 1e8 {
			t.Errorf("reads %g bytes/s", read)
		}
		if loop, _ := multiplyAdd(); loop != nil && ops < 1e9 {
			t.Errorf("computes %g operations/s", ops)
		}
		t.Logf("%.3g GB/s, %.3g GFLOP/s", read/1e9, ops/1e9)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

func TestReadWords(t *testing.T) { readWords(make([]byte, 128)) }
