package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interrupts turns Ctrl-C, and a request to terminate, into the end of whatever
// runs under a context of its. A second Ctrl-C, or one while nothing runs,
// leaves the program. A command that has something to finish (settles) is
// asked to end instead, and only the second leaves at once.
type interrupts struct {
	signals chan os.Signal
	ended   chan struct{} // closed when the program is asked to end

	mu      sync.Mutex
	cancel  context.CancelFunc // of what runs; nil if nothing does
	pressed bool               // since something began to run, or to wait
	settles bool
}

// catchInterrupts handles os.Interrupt and SIGTERM from now on.
func catchInterrupts(stderr io.Writer) *interrupts {
	n := &interrupts{signals: make(chan os.Signal, 1), ended: make(chan struct{})}
	signal.Notify(n.signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for sig := range n.signals {
			if n.press(sig != os.Interrupt) {
				fmt.Fprintln(stderr)
				os.Exit(exitInterrupted)
			}
		}
	}()
	return n
}

// press handles one signal and reports whether the program should end at
// once. With terminate it is to end in any case.
func (n *interrupts) press(terminate bool) (leave bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	idle := n.cancel == nil
	leave = n.pressed || idle && !n.settles
	n.pressed = true
	if n.cancel != nil {
		n.cancel()
	}
	if terminate || idle {
		n.end()
	}
	return leave
}

// end tells that the program is asked to end. n.mu is held.
func (n *interrupts) end() {
	select {
	case <-n.ended:
	default:
		close(n.ended)
	}
}

// settle tells that the command has something to finish when it is asked to
// end, and looks whether it is when it waits.
func (n *interrupts) settle() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.settles = true
}

// wait begins to wait for the user. The channel is closed when the program is
// asked to end.
func (n *interrupts) wait() (ended <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pressed = false
	return n.ended
}

// context returns a context that Ctrl-C ends. done must be called when what
// runs under it has ended.
func (n *interrupts) context() (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(context.Background())
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.ended: // nothing begins any more
		cancel()
		return ctx, func() {}
	default:
	}
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
