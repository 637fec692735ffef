package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
)

// interrupts turns Ctrl-C into the end of whatever runs under a context of
// its; a second one, or one while nothing runs, leaves the program.
type interrupts struct {
	signals chan os.Signal

	mu      sync.Mutex
	cancel  context.CancelFunc // of what runs; nil if nothing does
	pressed bool               // since something began to run
}

// catchInterrupts handles os.Interrupt from now on.
func catchInterrupts(stderr io.Writer) *interrupts {
	n := &interrupts{signals: make(chan os.Signal, 1)}
	signal.Notify(n.signals, os.Interrupt)
	go func() {
		for range n.signals {
			if n.press() {
				fmt.Fprintln(stderr)
				os.Exit(exitInterrupted)
			}
		}
	}()
	return n
}

// press handles one Ctrl-C and reports whether the program should end.
func (n *interrupts) press() (leave bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	leave = n.pressed || n.cancel == nil
	n.pressed = true
	if n.cancel != nil {
		n.cancel()
	}
	return leave
}

// context returns a context that Ctrl-C ends. done must be called when what
// runs under it has ended.
func (n *interrupts) context() (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(context.Background())
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cancel, n.pressed = cancel, false
	return ctx, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.cancel = nil
		cancel()
	}
}

// stop lets Ctrl-C end the program again, as it does by itself.
func (n *interrupts) stop() {
	signal.Stop(n.signals)
	close(n.signals)
}
