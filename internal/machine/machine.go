// Package machine measures what a machine can do: how fast all threads
// together read memory and multiply. Speeds of a model are told as shares of
// these limits, measured in the same run.
package machine

//go:generate sh -c "cd _asm && go run . -out ../loops_amd64.s -stubs ../loops_amd64.go -pkg machine"

import (
	"errors"
	"sync"
	"time"

	"gorun/internal/arena"
)

// readBytes is what each thread reads in a turn, well beyond caches.
const readBytes = 128 << 20

// rounds of a loop of multiply-adds in a turn.
const rounds = 1 << 20

// A Meter measures the limits of a number of threads in turns of some
// milliseconds. The speed of shared machines changes from one to the next, and hosts stop their guests for
// tens of milliseconds. So what is told as a share of a limit is measured
// between turns, and medians of both are compared.
type Meter struct {
	memory []*arena.Arena
}

// NewMeter takes 128 MiB of memory for each thread.
func NewMeter(threads int) (*Meter, error) {
	m := &Meter{}
	for range threads {
		a, err := arena.New(readBytes)
		if err != nil {
			return nil, errors.Join(err, m.Close())
		}
		m.memory = append(m.memory, a)
		b := a.Bytes()
		for at := 0; at < readBytes; at += 4096 {
			b[at] = 1 // so that each page is there, and not the zero page
		}
	}
	return m, nil
}

// Close gives the memory back.
func (m *Meter) Close() error {
	var errs []error
	for _, a := range m.memory {
		errs = append(errs, a.Free())
	}
	m.memory = nil
	return errors.Join(errs...)
}

// Read is how fast all threads read in a turn, in bytes per second.
func (m *Meter) Read() float64 {
	return m.turn(readBytes, func(i int) { read(m.memory[i].Bytes()) })
}

// MultiplyAdd is how fast all threads compute in a turn, in float32 operations per second; a
// multiply-add counts as two. It is 0 where no such loop is known.
func (m *Meter) MultiplyAdd() float64 {
	loop, flops := multiplyAdd()
	if loop == nil {
		return 0
	}
	return m.turn(float64(rounds*flops), func(int) { loop(rounds) })
}

// turn is the rate, in units per second, at which all threads do work of so many units each.
func (m *Meter) turn(units float64, work func(thread int)) float64 {
	var all sync.WaitGroup
	begin := time.Now()
	for i := range m.memory {
		all.Go(func() { work(i) })
	}
	all.Wait()
	return units * float64(len(m.memory)) / time.Since(begin).Seconds()
}
