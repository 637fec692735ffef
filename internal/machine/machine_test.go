package machine

import "testing"

func TestMeter(t *testing.T) {
	m, err := NewMeter(2)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		l := m.Measure()
		if l.ReadBytesPerSecond < 1e8 {
			t.Errorf("%+v", l)
		}
		if loop, _ := multiplyAdd(); loop != nil && l.FlopsPerSecond < 1e9 {
			t.Errorf("%+v", l)
		}
		t.Logf("%.3g GB/s, %.3g GFLOP/s", l.ReadBytesPerSecond/1e9, l.FlopsPerSecond/1e9)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

func TestReadWords(t *testing.T) { readWords(make([]byte, 128)) }
