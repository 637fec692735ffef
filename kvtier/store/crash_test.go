package store

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// TestCrashImages stops the machine at every point of a life of a store, many
// times: what is there opens, nothing is damaged, what was flushed is there,
// what is found is right, and the store goes on.
func TestCrashImages(t *testing.T) {
	images := 1500
	if os.Getenv("GORUN_LONG") != "" {
		images = 10000
	}
	m := newMemFS()
	s := open(t, m, Options{Cap: 240 << 10, StateCap: 60 << 10})
	r := rand.New(rand.NewPCG(7, 7))
	type flushed struct {
		at   int // changes
		text text
	}
	var texts []text
	var durable []flushed
	for i := range 30 {
		set := setOf(t, s, []string{"a", "b"}[i%2])
		x := textOf(i/2, 6+r.IntN(20))
		for _, e := range x.entries(set) {
			rec, err := put(s, e)
			if err != nil {
				t.Fatal(err)
			}
			s.Unpin(rec)
		}
		texts = append(texts, x)
		if i%3 == 0 {
			if err := s.SaveSession("a", Session{Name: "n", Tokens: x}); err != nil {
				t.Fatal(err)
			}
		}
		if i%4 == 0 {
			spilled, err := s.Spill(set, contents([]int32{int32(i)}, small.BlockBytes()))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Unpin(spilled)
		}
		if i%2 == 0 {
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
			durable = append(durable, flushed{len(m.log), x})
		}
	}
	if err := s.Flush(); err != nil { // the last text may still be on its way
		t.Fatal(err)
	}
	log := slices.Clone(m.log)
	lost := 0
	for i := 0; i < images || lost == 0 && i < 10*images; i++ {
		n := r.IntN(len(log) + 1)
		image := crash(log, n, r)
		if i%20 == 0 { // as gorun kv check does
			if look, err := Open(Options{FS: image, Look: true}); err != nil {
				t.Fatalf("image %d, %d changes: %v", i, n, err)
			} else if rep, err := look.Check(nil); err != nil || len(rep.Damaged) > 0 {
				t.Fatalf("image %d, %d changes: %+v, %v", i, n, rep, err)
			} else {
				lost += len(rep.Lost)
				look.Close()
			}
		}
		again, err := Open(Options{FS: image, Cap: 240 << 10, StateCap: 60 << 10})
		if err != nil {
			t.Fatalf("image %d, %d changes: %v", i, n, err)
		}
		for j, x := range texts {
			if _, _, err := x.verify(setOf(t, again, []string{"a", "b"}[j%2])); err != nil {
				t.Fatalf("image %d, %d changes, text %d: %v", i, n, j, err)
			}
		}
		// The newest of the flushed texts has not been evicted.
		for j := len(durable) - 1; j >= 0; j-- {
			if d := durable[j]; d.at <= n {
				if tokens, snapshot, err := d.text.verify(setOf(t, again, "a")); tokens != len(d.text)/4*4 || !snapshot || err != nil {
					t.Fatalf("image %d, %d changes: a flushed text has %d of %d tokens, snapshot %v, %v", i, n, tokens, len(d.text), snapshot, err)
				}
				break
			}
		}
		x := textOf(100, 14)
		set := setOf(t, again, "a")
		x.write(t, set)
		if tokens, _, err := x.verify(set); tokens != 12 || err != nil {
			t.Fatalf("image %d, %d changes: going on: %d, %v", i, n, tokens, err)
		}
		if err := again.Close(); err != nil {
			t.Fatalf("image %d, %d changes: %v", i, n, err)
		}
		if i%20 == 0 {
			look := open(t, image, Options{Look: true})
			if rep, err := look.Check(nil); err != nil || len(rep.Damaged)+len(rep.Lost) > 0 {
				t.Fatalf("image %d, %d changes, afterwards: %+v, %v", i, n, rep, err)
			}
			look.Close()
		}
	}
	if lost == 0 {
		t.Error("no image had a record that was being written")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
