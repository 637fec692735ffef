package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"gorun/kvtier"
	"gorun/model/chat"
	"gorun/model/sample"
	"gorun/model/tokenizer"
)

// Session is one growing text in the KV cache. It belongs to one goroutine.
type Session struct {
	m    *Model
	seq  *kvtier.Sequence
	lost int // times that a part of seq was lost, while one text went on
}

// NewSession makes an empty session.
func (m *Model) NewSession() *Session { return &Session{m: m, seq: m.NewSequence()} }

// Tokens are those that the session holds.
func (s *Session) Tokens() []int32 { return s.seq.Tokens() }

// Close gives the session's KV back.
func (s *Session) Close() { s.seq.Free() }

// Generation says how a text goes on.
type Generation struct {
	Sampling sample.Params
	// MaxTokens ends the text; 0: it may fill the context.
	MaxTokens int
	// Stop are texts that end the text, and are not part of it.
	Stop []string
	// Progress is told how much of the prompt has been computed.
	Progress func(done, total int)
}

// Token is one step of a generation. The last has a Finish, and perhaps no id.
type Token struct {
	ID int32
	// Text is what is now certain to be part of the text, in whole runes; it
	// may be empty.
	Text   string
	Finish Finish
	Sample sample.Token // has log probabilities, if they were asked for
}

// Finish says why a generation ended.
type Finish string

// The reasons to end.
const (
	FinishStop    Finish = "stop"    // the model's end of text, or a stop text
	FinishLength  Finish = "length"  // MaxTokens
	FinishContext Finish = "context" // no room for another token
)

// Complete continues a raw text; see Model.Prompt and Generate.
func (s *Session) Complete(ctx context.Context, text string, o Generation) iter.Seq2[Token, error] {
	return s.begin(ctx, o, func() ([]int32, error) { return s.m.Prompt(text) })
}

// Chat answers a conversation with the model's own chat template, or ChatML
// if its file has none.
func (s *Session) Chat(ctx context.Context, messages []chat.Message, o Generation) iter.Seq2[Token, error] {
	return s.begin(ctx, o, func() ([]int32, error) {
		t, _, err := s.m.ChatTemplate()
		if err != nil {
			return nil, err
		}
		text, err := chat.Encode(messages)
		if err != nil {
			return nil, err
		}
		return s.m.ChatPrompt(ctx, t, chat.Input{Messages: text, AddGenerationPrompt: true})
	})
}

// begin makes a prompt and continues it.
func (s *Session) begin(ctx context.Context, o Generation, prompt func() ([]int32, error)) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		ids, err := prompt()
		if err != nil {
			yield(Token{}, err)
			return
		}
		s.Generate(ctx, ids, o)(yield)
	}
}

// Generate continues prompt, which is the whole text so far. What the session
// already holds of it is not computed again. The error that ends an iteration
// leaves a session that can go on.
func (s *Session) Generate(ctx context.Context, prompt []int32, o Generation) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		if err := s.generate(ctx, prompt, o, func(t Token) bool { return yield(t, nil) }); err != nil {
			yield(Token{}, err)
		}
	}
}

func (s *Session) generate(ctx context.Context, prompt []int32, o Generation, yield func(Token) bool) error {
	tok, err := s.m.Tokenizer()
	if err != nil {
		return err
	}
	if len(prompt) == 0 {
		return errors.New("a prompt of no tokens: begin with the BOS token")
	}
	chain, err := sample.New(o.Sampling, s.m.Spec().Vocab, func(id int32) string { return tok.Piece(id) })
	if err != nil {
		return err
	}
	for _, id := range prompt {
		chain.Accept(id)
	}
	s.lost = 0
	defer s.remember()
	text := &textOut{decoder: tok.NewDecoder(), stopper: sample.NewStopper(o.Stop)}
	next, err := s.feed(ctx, prompt, chain, o.Progress)
	if err == nil {
		s.remember() // the next prompt may have this one in it, and not the answer
	}
	for n := 0; ; {
		if err != nil {
			return err
		}
		if tok.IsEOG(next.ID) {
			yield(Token{ID: next.ID, Text: text.flush(), Finish: FinishStop, Sample: next})
			return nil
		}
		chain.Accept(next.ID)
		n++
		t := Token{ID: next.ID, Sample: next}
		var stopped bool
		t.Text, stopped = text.write(next.ID)
		switch {
		case stopped:
			t.Finish = FinishStop
		case n == o.MaxTokens:
			t.Finish, t.Text = FinishLength, t.Text+text.flush()
		case s.seq.Len() == s.m.plan.Options.Context:
			t.Finish, t.Text = FinishContext, t.Text+text.flush()
		}
		if !yield(t) || t.Finish != "" {
			return nil
		}
		last := []int32{next.ID}
		if next, err = s.extend(ctx, last, chain); err != nil {
			if whole := append(slices.Clone(s.seq.Tokens()), last...); s.again(ctx, err) {
				next, err = s.feed(ctx, whole, chain, nil)
			}
		}
	}
}

// feed computes the part of prompt that the session does not hold, and
// samples the token after it.
func (s *Session) feed(ctx context.Context, prompt []int32, chain *sample.Chain, progress func(done, total int)) (next sample.Token, err error) {
	if limit := s.m.plan.Options.Context; len(prompt) > limit {
		return next, fmt.Errorf("%w: the prompt has %d tokens, the context %d", ErrContext, len(prompt), limit)
	}
	done, err := s.hold(ctx, prompt)
	if err != nil {
		return next, err
	}
	for {
		if progress != nil {
			progress(done, len(prompt))
		}
		n := min(s.m.plan.Options.Batch, len(prompt)-done)
		last := chain
		if done+n < len(prompt) {
			last = nil
		}
		next, err = s.extend(ctx, prompt[done:done+n], last)
		switch {
		case err != nil && s.again(ctx, err):
			if done, err = s.hold(ctx, prompt); err != nil {
				return next, err
			}
			continue
		case err != nil || last != nil:
			return next, err
		}
		done += n
	}
}

// extend adds tokens and, with a chain, samples the one after them.
func (s *Session) extend(ctx context.Context, tokens []int32, chain *sample.Chain) (next sample.Token, err error) {
	run := Run{Seq: s.seq, Tokens: tokens, Want: LastLogits}
	if chain == nil {
		run.Want = NoLogits
	}
	err = s.m.Forward(ctx, []Run{run}, func(_, _ int, logits []float32) (err error) {
		next, err = chain.Sample(logits)
		return err
	})
	return next, err
}

// textOut turns tokens into text that is certain.
type textOut struct {
	decoder *tokenizer.Decoder
	stopper *sample.Stopper
}

func (t *textOut) write(id int32) (text string, stopped bool) {
	return t.stopper.Write(t.decoder.Write(id))
}

func (t *textOut) flush() string {
	text, stopped := t.stopper.Write(t.decoder.Flush())
	if stopped {
		return text
	}
	return text + t.stopper.Flush()
}

// Prompt makes the tokens of a raw text: with the BOS token, if the file asks
// for it or there is nothing else to begin with.
func (m *Model) Prompt(text string) ([]int32, error) {
	tok, err := m.Tokenizer()
	if err != nil {
		return nil, err
	}
	ids, err := tok.Encode(text, tokenizer.Options{AddSpecial: true, ParseSpecial: true})
	if err != nil || len(ids) > 0 {
		return ids, err
	}
	if id, ok := tok.BOS(); ok {
		return []int32{id}, nil
	}
	if id, ok := tok.EOS(); ok {
		return []int32{id}, nil
	}
	return nil, errors.New("an empty prompt, and the model has no token to begin a text with")
}
