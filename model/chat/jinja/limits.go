package jinja

import (
	"context"
	"time"
)

// Limits bounds what rendering may cost. A field that is zero or negative
// takes its default.
type Limits struct {
	Output int // bytes of the rendered text; default 64 MiB
	Steps  int // nodes evaluated, elements visited, 64-byte pieces of text handled; default 50 million
	Depth  int // nested evaluations, macro calls and data together; default 4000
	Size   int // bytes of one string, or elements of one list; default 32 Mi
	Memory int // bytes of all strings and lists ever made; default 512 MiB
}

// DefaultLimits are generous for any chat template, and keep a hostile one to
// seconds.
var DefaultLimits = Limits{
	Output: 64 << 20,
	Steps:  50_000_000,
	Depth:  4000,
	Size:   32 << 20,
	Memory: 512 << 20,
}

func (l Limits) withDefaults() Limits {
	pick := func(v *int, def int) {
		if *v <= 0 {
			*v = def
		}
	}
	pick(&l.Output, DefaultLimits.Output)
	pick(&l.Steps, DefaultLimits.Steps)
	pick(&l.Depth, DefaultLimits.Depth)
	pick(&l.Size, DefaultLimits.Size)
	pick(&l.Memory, DefaultLimits.Memory)
	return l
}

// state is one rendering: its limits and what has been spent of them.
type state struct {
	ctx     context.Context
	name    string
	limits  Limits
	now     func() time.Time
	globals map[string]Value
	out     *sink

	steps     int
	nextCheck int
	depth     int
	memory    int

	growing     [growing]growth
	nextGrowing int
}

// checkEvery is the number of steps between two looks at the context.
const checkEvery = 1024

// step charges n units of work.
func (s *state) step(n int) error {
	s.steps += n
	if s.steps < s.nextCheck {
		return nil
	}
	s.nextCheck = s.steps + checkEvery
	if s.steps > s.limits.Steps {
		return limitErrorf("more than %d steps", s.limits.Steps)
	}
	return s.ctx.Err()
}

// enter charges a step and one level of depth; every enter that succeeds has a
// leave.
func (s *state) enter() error {
	if s.depth >= s.limits.Depth {
		return limitErrorf("nested more than %d deep", s.limits.Depth)
	}
	if err := s.step(1); err != nil {
		return err
	}
	s.depth++
	return nil
}

func (s *state) leave() { s.depth-- }

// room says whether a string or list of n may be made. It is asked before
// anything that can grow faster than its input.
func (s *state) room(n int) error {
	if n < 0 || n > s.limits.Size {
		return limitErrorf("a string or list of more than %d", s.limits.Size)
	}
	return nil
}

// alloc charges n bytes of new data.
func (s *state) alloc(n int) error {
	s.memory += n
	if s.memory > s.limits.Memory {
		return limitErrorf("more than %d bytes of strings and lists made", s.limits.Memory)
	}
	return s.step(n / 64)
}

// wordBytes is the size of one element of a list.
const wordBytes = 16

// account charges a value that an operation has made, with the strings
// directly in it.
func (s *state) account(v Value) error {
	switch v := v.(type) {
	case string:
		return s.sized(len(v))
	case Markup:
		return s.sized(len(v))
	case *List:
		return s.accountAll(v.Items)
	case *Tuple:
		return s.accountAll(v.Items)
	}
	return nil
}

func (s *state) sized(n int) error {
	if err := s.room(n); err != nil {
		return err
	}
	return s.alloc(n)
}

func (s *state) accountAll(items []Value) error {
	if err := s.room(len(items)); err != nil {
		return err
	}
	n := wordBytes * len(items)
	for _, it := range items {
		if t, ok := text(it); ok {
			n += len(t)
		}
	}
	return s.alloc(n)
}

// work charges the reading of a value whose size makes an operation slow.
func (s *state) work(v Value) error {
	switch v := v.(type) {
	case string:
		return s.step(len(v) / 64)
	case Markup:
		return s.step(len(v) / 64)
	case *List:
		return s.step(len(v.Items))
	case *Tuple:
		return s.step(len(v.Items))
	}
	return nil
}
