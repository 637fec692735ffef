// Package kernelset is what packages of kernels share: the sets of kernels that they have,
// one for each kind of CPU, which of them is in use, and how known answers are compared.
package kernelset

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// A Choice of kernel sets, one of which is in use. All give the same bits, so another
// may be selected at any time.
type Choice[S any, P interface {
	*S
	Name() string
}] struct {
	owner   string
	sets    []P
	current atomic.Pointer[S]
}

// New returns the choice that the package named owner has: what this CPU can execute, the
// best first, which is in use until another is selected.
func New[S any, P interface {
	*S
	Name() string
}](owner string, sets ...P) *Choice[S, P] {
	c := &Choice[S, P]{owner: owner, sets: sets}
	c.Use(sets[0])
	return c
}

// All lists the kernel sets that this CPU can execute, the best first. The last is generic.
func (c *Choice[S, P]) All() []P { return slices.Clone(c.sets) }

// Current is the set in use.
func (c *Choice[S, P]) Current() P { return c.current.Load() }

// Use makes what is computed from now on use a set.
func (c *Choice[S, P]) Use(set P) { c.current.Store(set) }

// Named is the set of that name.
func (c *Choice[S, P]) Named(name string) (P, error) {
	names := make([]string, len(c.sets))
	for i, s := range c.sets {
		if names[i] = s.Name(); names[i] == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%s: no kernel set %q on this CPU; there are %v", c.owner, name, names)
}

// Select uses the set of that name.
func (c *Choice[S, P]) Select(name string) error {
	set, err := c.Named(name)
	if err == nil {
		c.Use(set)
	}
	return err
}
