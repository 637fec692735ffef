package kernelset

import (
	"math"
	"strings"
	"testing"
)

type set struct{ name string }

func (s *set) Name() string { return s.name }

func TestChoice(t *testing.T) {
	best, generic := &set{"best"}, &set{"generic"}
	c := New("pkg", best, generic)
	if c.Current() != best {
		t.Error("the first is not in use")
	}
	if err := c.Select("generic"); err != nil || c.Current() != generic {
		t.Errorf("selected %v, %v", c.Current(), err)
	}
	err := c.Select("none")
	if err == nil || !strings.HasPrefix(err.Error(), `pkg: no kernel set "none"`) || !strings.Contains(err.Error(), "[best generic]") {
		t.Errorf("error %v", err)
	}
	if c.Current() != generic {
		t.Error("a set that does not exist is in use")
	}
	all := c.All()
	all[0] = generic
	if c.All()[0] != best {
		t.Error("the list is not a copy")
	}
}

func TestDiffer(t *testing.T) {
	x := Numbers(100)
	for _, v := range x {
		if v < -2 || v >= 2 {
			t.Errorf("%v", v)
		}
	}
	if err := Differ("x", x, Numbers(100)); err != nil {
		t.Error(err)
	}
	x[7] = math.Nextafter32(x[7], 3)
	if err := Differ("x", x, Numbers(100)); err == nil || !strings.HasPrefix(err.Error(), "x: result 7 ") {
		t.Errorf("error %v", err)
	}
	if Differ("zero", []float32{0}, []float32{float32(math.Copysign(0, -1))}) == nil {
		t.Error("zeros of both signs are the same")
	}
}
