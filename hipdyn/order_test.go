package hipdyn_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gorun/hipdyn"
	"gorun/hipdyn/hipemu"
)

// operation is a fill or a copy within a buffer, on one of several streams.
type operation struct {
	stream   int
	fill     bool
	value    byte
	to, from int64
	n        int64
}

const bufferSize = 64

func drawOperations(t *rapid.T, streams int) []operation {
	var list []operation
	for range rapid.IntRange(2, 30).Draw(t, "operations") {
		o := operation{
			stream: rapid.IntRange(0, streams-1).Draw(t, "stream"), fill: rapid.Bool().Draw(t, "fill"), value: rapid.Byte().Draw(t, "value"),
			n: rapid.Int64Range(1, bufferSize/2).Draw(t, "n"),
		}
		o.to = rapid.Int64Range(0, bufferSize-o.n).Draw(t, "to")
		o.from = rapid.Int64Range(0, bufferSize-o.n).Draw(t, "from")
		list = append(list, o)
	}
	return list
}

// ranges are what an operation reads and writes: from, to (exclusive), write.
func (o operation) ranges() [][3]int64 {
	r := [][3]int64{{o.to, o.to + o.n, 1}}
	if !o.fill {
		r = append(r, [3]int64{o.from, o.from + o.n, 0})
	}
	return r
}

func conflict(a, b operation) bool {
	for _, x := range a.ranges() {
		for _, y := range b.ranges() {
			if x[2]+y[2] > 0 && x[0] < y[1] && y[0] < x[1] {
				return true
			}
		}
	}
	return false
}

// Operations on several streams, with events between those that need them, do
// what they do one after the other. Without any events, the emulator complains
// exactly if two operations on different streams use the same bytes.
func TestOrderOfStreams(t *testing.T) {
	if hipdyn.Supported != nil {
		t.Skip(hipdyn.Supported)
	}
	rapid.Check(t, func(t *rapid.T) {
		const streams = 3
		list := drawOperations(t, streams)
		ordered, eager := rapid.Bool().Draw(t, "ordered"), rapid.Bool().Draw(t, "eager")
		e, err := hipemu.New(hipemu.Config{GPUs: []hipemu.GPU{{GFX: "gfx1201"}}, Eager: eager})
		if err != nil {
			t.Fatal(err)
		}
		lib, err := hipdyn.OpenSource(e.Source())
		if err != nil {
			t.Fatal(err)
		}
		got, failed := runOperations(t, lib, list, streams, ordered)
		found := e.Findings()
		if err := lib.Close(); err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil && ordered {
			t.Error(err)
		}
		races := false
		for i, a := range list {
			for _, b := range list[:i] {
				races = races || a.stream != b.stream && conflict(a, b)
			}
		}
		if !ordered && races {
			if failed == nil || len(found) == 0 || !strings.Contains(found[0].Error(), "missing stream wait") {
				t.Fatalf("there is a race: %v, %v", failed, found)
			}
			return
		}
		if failed != nil {
			t.Fatal(failed)
		}
		want := make([]byte, bufferSize)
		for _, o := range list {
			if o.fill {
				copy(want[o.to:], bytes.Repeat([]byte{o.value}, int(o.n)))
			} else {
				copy(want[o.to:o.to+o.n], want[o.from:])
			}
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// runOperations enqueues operations and reads the buffer at the end.
func runOperations(t *rapid.T, lib *hipdyn.Library, list []operation, n int, ordered bool) ([]byte, error) {
	d, err := lib.Device("0")
	if err != nil {
		t.Fatal(err)
	}
	b, err := d.Alloc(bufferSize)
	if err != nil {
		t.Fatal(err)
	}
	streams, events := make([]*hipdyn.Stream, n), make([]*hipdyn.Event, len(list))
	for i := range streams {
		if streams[i], err = d.NewStream(); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(streams[0].Fill(b, 0, bufferSize, 0), streams[0].Synchronize()); err != nil {
		t.Fatal(err)
	}
	var failed error
	for i, o := range list {
		s := streams[o.stream]
		for j, before := range list[:i] {
			if ordered && before.stream != o.stream && conflict(o, before) {
				failed = errors.Join(failed, s.Wait(events[j]))
			}
		}
		if o.fill {
			failed = errors.Join(failed, s.Fill(b, o.to, o.n, o.value))
		} else {
			failed = errors.Join(failed, s.Copy(b, o.to, b, o.from, o.n))
		}
		if events[i], err = d.NewEvent(false); err == nil {
			err = s.Record(events[i])
		}
		failed = errors.Join(failed, err)
	}
	for _, s := range streams {
		failed = errors.Join(failed, s.Synchronize())
	}
	got := make([]byte, bufferSize)
	if failed == nil {
		failed = streams[0].Read(got, b, 0)
	}
	for _, v := range events {
		if v != nil {
			failed = errors.Join(failed, v.Close())
		}
	}
	for _, s := range streams {
		failed = errors.Join(failed, s.Close())
	}
	return got, errors.Join(failed, b.Free())
}
