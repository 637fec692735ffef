package sample

// xtc drops the candidates of at least the probability threshold, but for the
// least likely one of them: the highest id among equals.
func (c *candidates) xtc(threshold float64) {
	c.weigh()
	floor := float64(threshold * c.sum)
	var last *candidate
	for i := range c.list {
		if d := &c.list[i]; d.weight >= floor && (last == nil || better(last, d)) {
			last = d
		}
	}
	if last == nil {
		return
	}
	stays := last.id
	c.keep(func(d *candidate) bool { return d.weight < floor || d.id == stays })
}
