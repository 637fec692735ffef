package machine

import (
	"context"
	"testing"
)

func TestMeasure(t *testing.T) {
	l, err := Measure(context.Background(), 2)
	if err != nil || l.ReadBytesPerSecond < 1e8 {
		t.Fatalf("%+v, %v", l, err)
	}
	if loop, _ := multiplyAdd(); loop != nil && l.FlopsPerSecond < 1e9 {
		t.Errorf("%+v", l)
	}
	t.Logf("%.3g GB/s, %.3g GFLOP/s", l.ReadBytesPerSecond/1e9, l.FlopsPerSecond/1e9)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Measure(ctx, 1); err == nil {
		t.Error("measured although cancelled")
	}
}

func TestReadWords(t *testing.T) { readWords(make([]byte, 128)) }
