package policy

import (
	"testing"

	"pgregory.net/rapid"
)

// TestKVVictims drives a policy at random, and holds each victim to the order
// that the type promises, by looking at all blocks.
func TestKVVictims(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := NewKV()
		var blocks []*KVBlock
		any := func() *KVBlock { return rapid.SampledFrom(blocks).Draw(t, "block") }
		t.Repeat(map[string]func(*rapid.T){
			"new": func(t *rapid.T) {
				b := &KVBlock{Pos: rapid.IntRange(0, 9).Draw(t, "pos"), Users: rapid.IntRange(0, 2).Draw(t, "users"), Open: rapid.Bool().Draw(t, "open")}
				blocks = append(blocks, b)
				k.Touch(b)
				k.Put(Hot, b)
			},
			"pass": func(t *rapid.T) {
				for range rapid.IntRange(1, IdleAfter).Draw(t, "passes") {
					k.Begin()
				}
			},
			"use": func(t *rapid.T) {
				if len(blocks) > 0 {
					k.Touch(any())
				}
			},
			"pin": func(t *rapid.T) {
				if len(blocks) > 0 {
					k.Pin(any())
				}
			},
			"take": func(t *rapid.T) {
				if len(blocks) > 0 {
					k.Take(Hot, any())
				}
			},
			"put": func(t *rapid.T) {
				if len(blocks) > 0 {
					k.Put(Hot, any())
				}
			},
			"victim": func(t *rapid.T) {
				k.Begin() // the order is that of the beginning of a pass
				for range 3 {
					v := k.Victim(Hot)
					n := 0
					for _, b := range blocks {
						if !k.In(Hot, b) {
							continue
						}
						n++
						if v == nil {
							t.Fatal("no victim among blocks that may leave")
						}
						if k.Before(b, v) {
							t.Fatalf("%+v leaves before %+v", v, b)
						}
					}
					if n != k.Len(Hot) {
						t.Fatalf("%d blocks, the policy has %d", n, k.Len(Hot))
					}
					if v != nil {
						if !k.In(Hot, v) {
							t.Fatal("a victim from elsewhere")
						}
						k.Take(Hot, v)
					}
				}
			},
		})
	})
}

// TestKVKeepsBeginning decodes a sequence that is longer than its tier, beside
// an idle one: the idle one leaves, then what is beyond the beginning does,
// and the beginning is never touched.
func TestKVKeepsBeginning(t *testing.T) {
	const room = 8
	k := NewKV()
	var idle, seq []*KVBlock
	put := func(list *[]*KVBlock) {
		b := &KVBlock{Pos: len(*list), Users: 1}
		*list = append(*list, b)
		k.Begin()
		for _, b := range *list {
			k.Touch(b)
		}
		k.Pin(b)
		if k.Len(Hot) == room {
			k.Take(Hot, k.Victim(Hot))
		}
		k.Put(Hot, b)
	}
	for range 4 {
		put(&idle)
	}
	for range IdleAfter + 1 {
		k.Begin()
	}
	for range 40 {
		put(&seq)
	}
	for _, b := range idle {
		if k.In(Hot, b) {
			t.Errorf("block %d of the idle sequence stayed", b.Pos)
		}
	}
	for _, b := range seq {
		if want := b.Pos < room-1 || b.Pos == 39; k.In(Hot, b) != want {
			t.Errorf("block %d is hot: %v", b.Pos, k.In(Hot, b))
		}
	}
}
