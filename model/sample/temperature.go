package sample

import "math"

// temperature divides the logits, which first are made relative to the largest:
// that changes no probability, and no t is too small for it.
func (c *candidates) temperature(t float64) {
	if t == 0 {
		c.topK(1)
		return
	}
	top := c.top()
	for i := range c.list {
		d := &c.list[i]
		d.logit = max((d.logit-top)/t, -math.MaxFloat32)
	}
	c.weighed = false
}

// follow returns the temperature that d makes of t for these candidates.
func (d DynamicTemperature) follow(t float64, c *candidates) float64 {
	if d.Range == 0 || len(c.list) < 2 {
		return t
	}
	h, _ := c.entropy()
	share := min(h/log(float64(len(c.list))), 1)
	if share > 0 {
		share = exp(float64(d.Exponent * log(share)))
	}
	low, high := max(t-d.Range, 0), t+d.Range
	return low + float64((high-low)*share)
}
