package cpu

import (
	"math"
	"slices"
	"testing"

	"gorun/compute"
)

// TestGroups rules groups out by hand: four groups of three values.
func TestGroups(t *testing.T) {
	values := []float64{
		0.1, 0.9, 0.0, // the largest single value
		0.5, 0.6, 0.1, // the largest pair
		0.45, 0.45, 0.45, // the largest sum
		0.2, 0.2, 0.5,
	}
	for _, c := range []struct {
		used, top int
		left      []int // groups
	}{
		{1, 1, []int{0}}, {1, 2, []int{1}}, {1, 3, []int{2}}, {2, 1, []int{0, 1}}, {2, 2, []int{0, 1}}, {3, 3, []int{0, 1, 2}}, {2, 9, []int{1, 2}},
	} {
		got := slices.Clone(values)
		chooseGroups(got, compute.Routing{Groups: 4, GroupsUsed: c.used, GroupTop: c.top})
		for i, v := range got {
			want := math.Inf(-1)
			if slices.Contains(c.left, i/3) {
				want = values[i]
			}
			if v != want {
				t.Errorf("%d groups by their %d best: value %d is %v, want %v", c.used, c.top, i, v, want)
			}
		}
	}
}
