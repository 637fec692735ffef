//go:build amd64

package prefetch

// lines takes n of at least 1.
//
//go:noescape
func lines(p *byte, n int)
