package policy

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

type buffer struct{ bytes.Buffer }

func (*buffer) Close() error { return nil }

var testHeader = Header{Model: "m.gguf", Began: time.Unix(5, 0).UTC(), Pools: []Pool{{Name: "weights", Slots: 3}, {Name: "kv"}}}

func written(t interface{ Fatal(...any) }, events []Event) []byte {
	var out buffer
	w, err := NewWriter(&out, testHeader)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		w.add(e)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func readAll(b []byte) (events []Event, err error) {
	r, err := NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	for e, err := range r.Events() {
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
	return events, nil
}

func drawEvents(t *rapid.T, most int) []Event {
	var last time.Duration
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Event {
		last += time.Duration(rapid.Int64Range(0, 1e7).Draw(t, "time")) * time.Microsecond
		return Event{
			last, Kind(rapid.IntRange(0, 3).Draw(t, "kind")), uint8(rapid.IntRange(0, 1).Draw(t, "pool")), rapid.Uint64().Draw(t, "page"),
			rapid.Int64().Draw(t, "bytes"), Tier(rapid.IntRange(0, 3).Draw(t, "from")), Tier(rapid.IntRange(0, 3).Draw(t, "to")),
			Cause(rapid.IntRange(0, 6).Draw(t, "cause")),
		}
	}), 0, most).Draw(t, "events")
}

func TestTraceComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawEvents(t, 50)
		if len(events) > 0 && rapid.IntRange(0, 4).Draw(t, "many") == 0 {
			events = slices.Repeat(events, 1+4000/len(events)) // several blocks
			for i := range events {
				events[i].Time = time.Duration(i) * time.Microsecond
			}
		}
		b := written(t, events)
		got, err := readAll(b)
		if err != nil || !slices.Equal(got, events) {
			t.Fatalf("%d events came back as %d: %v", len(events), len(got), err)
		}
		// Cut off anywhere, what comes is a prefix.
		got, err = readAll(b[:rapid.IntRange(0, len(b)).Draw(t, "cut")])
		if len(got) > len(events) || !slices.Equal(got, events[:len(got)]) {
			t.Fatalf("cut off: %d events, %v", len(got), err)
		}
		// A flipped bit is an error or in the part that was read before.
		flipped := slices.Clone(b)
		bit := rapid.IntRange(0, 8*len(b)-1).Draw(t, "bit")
		flipped[bit/8] ^= 1 << (bit % 8)
		if got, err := readAll(flipped); err == nil {
			t.Fatalf("bit %d of %d flipped: %d events and no error", bit, 8*len(b), len(got))
		}
	})
}

func TestTraceCutOff(t *testing.T) {
	events := make([]Event, 10000)
	for i := range events {
		events[i] = Event{Time: time.Duration(i) * time.Microsecond, Page: uint64(i), Bytes: 4096, From: Cold, To: Hot}
	}
	b := written(t, events)
	if perEvent := float64(len(b)) / float64(len(events)); perEvent > 8 {
		t.Errorf("%.1f bytes an event", perEvent)
	}
	got, err := readAll(b[:len(b)-1])
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(got) < len(events)/2 {
		t.Errorf("%d events, %v", len(got), err)
	}
}

// TestRecord wants times in order, refs to be found, and an error of the disk
// at the end.
func TestRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	w, err := Create(path, Header{Pools: testHeader.Pools})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10000 {
		w.Record(Event{Kind: Kind(i % 4), Pool: uint8(i % 3 % 2), Page: uint64(i), Cause: Cause(i % 3)})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	events, err := readAll(b)
	if err != nil || len(events) != 10000 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	if !slices.IsSortedFunc(events, func(a, b Event) int { return int(a.Time - b.Time) }) {
		t.Error("times are not in order")
	}
	r, err := NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	refs, err := Refs(r.Events(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range refs {
		if ref.Page%4 > 1 || ref.Page%3 != 1 || ref.Cold {
			t.Fatalf("ref %+v", ref)
		}
	}
	if len(refs) == 0 {
		t.Error("no refs")
	}

	w, err = NewWriter(&failing{}, testHeader)
	if err != nil {
		t.Fatal(err)
	}
	for range 100000 {
		w.Record(Event{})
	}
	if err := w.Close(); err == nil {
		t.Error("no error of a full disk")
	}
	(*Writer)(nil).Record(Event{})
	if err := (*Writer)(nil).Close(); err != nil {
		t.Error(err)
	}
}

// failing is full after a while.
type failing struct{ n int }

func (f *failing) Write(b []byte) (int, error) {
	if f.n += len(b); f.n > 50000 {
		return 0, errors.New("disk full")
	}
	return len(b), nil
}
func (*failing) Close() error { return nil }

func TestNames(t *testing.T) {
	if s := Hit.String() + Cold.String() + Drop.String() + Kind(9).String(); s != "hitcolddrop9" {
		t.Error(s)
	}
}

func FuzzTrace(f *testing.F) {
	f.Add(written(f, []Event{{Page: 7}, {Time: time.Second, Kind: Miss, Page: 9, Bytes: 100}}))
	f.Add([]byte(magic))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		events, err := readAll(b)
		if len(events) > len(b) {
			t.Errorf("%d events of %d bytes, %v", len(events), len(b), err)
		}
	})
}
