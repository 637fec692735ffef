package model

import (
	"context"
	"errors"
	"path/filepath"

	"gorun/kvtier"
	"gorun/kvtier/store"
)

// Store is the model's memory on disk; nil without Options.KVCold.
func (m *Model) Store() *store.Store { return m.store }

// Name is what people call the model: its file.
func (m *Model) Name() string { return filepath.Base(m.file.Parts()[0].Path) }

// Pool is the model's KV cache.
func (m *Model) Pool() *kvtier.Pool { return m.pool }

// hold makes the session's sequence hold as much of prompt as is known,
// except the last token, and returns how much that is: of what it holds, of
// what other sequences of the model have computed, or of what is on disk.
func (s *Session) hold(ctx context.Context, prompt []int32) (int, error) {
	most, held := prompt[:len(prompt)-1], s.seq.Tokens()
	done := 0
	for done < len(held) && done < len(most) && held[done] == most[done] {
		done++
	}
	if err := s.seq.Truncate(done); err != nil {
		// A window or a state does not reach back so far: begin again.
		s.seq.Free()
		done = 0
	}
	if s.seq.Known(most) <= done {
		return done, nil
	}
	s.seq.Free()
	return s.seq.Resume(ctx, most)
}

// mostLost is how often a text tries to go on: a disk that keeps failing ends
// it.
const mostLost = 8

// again tells whether a pass that failed is worth another try: a part of the
// KV cache was lost, and what is left can be gone on from.
func (s *Session) again(ctx context.Context, err error) bool {
	var lost *kvtier.LostError
	if !errors.As(err, &lost) || ctx.Err() != nil || s.lost == mostLost {
		return false
	}
	s.lost++
	if s.seq.Truncate(min(lost.Pos, s.seq.Len())) != nil {
		s.seq.Free()
	}
	return true
}

// remember begins to write the end of the text to disk. Failing costs the
// next user of the text some time, and nothing else.
func (s *Session) remember() {
	if err := s.seq.Save(); err != nil && s.m.plan.Options.Log != nil {
		s.m.plan.Options.Log.Warn("the end of the text is not remembered", "error", err)
	}
}
