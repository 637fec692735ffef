package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"gorun/model"
	"gorun/model/sample"
	"gorun/pager"
)

type runCommand struct {
	Model   string   `arg:"" optional:"" help:"Model file (GGUF). Default: the embedded model."`
	Prompt  *string  `short:"p" placeholder:"TEXT" help:"Text to continue. Default: standard input, or a chat on a terminal."`
	File    string   `placeholder:"FILE" help:"Read the text from a file."`
	Max     int      `name:"max-tokens" short:"n" placeholder:"N" help:"Most tokens to write. Default: until the model ends or the context is full."`
	Stop    []string `sep:"none" placeholder:"TEXT" help:"End before this text. May be repeated."`
	Chat    *bool    `negatable:"" help:"Treat the text as a message of a chat, or the opposite. Default: only without a text."`
	System  string   `placeholder:"TEXT" help:"System message of a chat."`
	Session string   `placeholder:"NAME" help:"Go on with the text or chat of that name, and remember it: across restarts, without computing it again."`
	JSON    bool     `name:"json" help:"Print one JSON object at the end, nothing before."`
	samplingFlags
	engineFlags
}

func (runCommand) Help() string {
	return `Standard output carries the generated text and nothing else. Ctrl-C ends the text, twice the program.

Examples:
  gorun run -p "Dorothy" -n 40
  gorun run model.gguf
  gorun run model.gguf --chat -p "Why is the sky blue?" --temp 0
  gorun run model.gguf --file story.txt -n 200
  gorun run model.gguf --session notes           a chat that is remembered`
}

// samplingFlags choose among likely tokens.
type samplingFlags struct {
	Temp             float64 `group:"Sampling" default:"0.8" help:"Temperature; 0 always takes the likeliest token."`
	TopK             int     `group:"Sampling" default:"40" help:"Keep the K likeliest tokens; 0: all."`
	TopP             float64 `group:"Sampling" default:"0.95" help:"Keep the likeliest tokens of this total probability; 1: all."`
	MinP             float64 `group:"Sampling" default:"0.05" help:"Keep tokens at least this likely, relative to the likeliest; 0: all."`
	Typical          float64 `group:"Sampling" default:"1" help:"Locally typical sampling; 1: off."`
	TopNSigma        float64 `group:"Sampling" name:"top-n-sigma" default:"0" help:"Keep logits within so many standard deviations of the largest; 0: all."`
	RepeatPenalty    float64 `group:"Sampling" default:"1" help:"Divide the logits of recent tokens; 1: off."`
	RepeatLastN      int     `group:"Sampling" name:"repeat-last-n" default:"64" help:"Tokens that count as recent; -1: all."`
	PresencePenalty  float64 `group:"Sampling" default:"0" help:"Subtract from the logits of recent tokens."`
	FrequencyPenalty float64 `group:"Sampling" default:"0" help:"Subtract for each recent occurrence."`
	DRYMultiplier    float64 `group:"Sampling" name:"dry-multiplier" default:"0" help:"Strength of the DRY repetition penalty; 0: off."`
	XTCProbability   float64 `group:"Sampling" name:"xtc-probability" default:"0" help:"How often XTC leaves out the likeliest tokens; 0: never."`
	XTCThreshold     float64 `group:"Sampling" name:"xtc-threshold" default:"0.1" help:"Probability from which XTC may leave out a token."`
	Mirostat         int     `group:"Sampling" enum:"0,1,2" default:"0" help:"Version of Mirostat: ${enum}; 0: off."`
	MirostatTau      float64 `group:"Sampling" name:"mirostat-tau" default:"5" help:"Surprise that Mirostat aims at, in bits."`
	MirostatEta      float64 `group:"Sampling" name:"mirostat-eta" default:"0.1" help:"Learning rate of Mirostat."`
	Seed             int64   `group:"Sampling" default:"-1" help:"Seed of the random numbers; negative: a random one."`
}

func (f *samplingFlags) params() (sample.Params, error) {
	p := sample.Defaults()
	p.Temperature, p.TopK, p.TopP, p.MinP, p.Typical, p.TopNSigma = f.Temp, f.TopK, f.TopP, f.MinP, f.Typical, f.TopNSigma
	p.RepeatPenalty, p.RepeatLastN, p.PresencePenalty, p.FrequencyPenalty = f.RepeatPenalty, f.RepeatLastN, f.PresencePenalty, f.FrequencyPenalty
	p.DRY.Multiplier, p.XTC.Probability, p.XTC.Threshold = f.DRYMultiplier, f.XTCProbability, f.XTCThreshold
	p.Mirostat.Version, p.Mirostat.Tau, p.Mirostat.Eta = f.Mirostat, f.MirostatTau, f.MirostatEta
	p.Seed = f.Seed
	if err := p.Validate(); err != nil {
		return p, usageError{err.Error()}
	}
	return p, nil
}

func (c *runCommand) Run(s *streams, in *interrupts) (err error) {
	params, err := c.params()
	if err != nil {
		return err
	}
	if c.Max < 0 {
		return usagef("--max-tokens %d: want a positive number", c.Max)
	}
	text, given, err := c.text(s)
	if err != nil {
		return err
	}
	chat := !given
	if c.Chat != nil {
		chat = *c.Chat
	}
	if !given && !chat {
		return usagef("nothing to continue: give a text with -p, --file or standard input")
	}
	if !given && c.JSON {
		return usagef("--json needs a text: give one with -p, --file or standard input")
	}
	if c.System != "" && !chat {
		return usagef("--system is for chats: add --chat")
	}

	if c.Session != "" && c.KVCold == "" {
		if c.KVCold, err = defaultKVDir(); err != nil {
			return err
		}
	}
	in.settle() // the end of the text may have to be written to disk
	ctx, done := in.context()
	m, err := c.load(ctx, c.Model, s)
	done()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	begin := time.Now()
	defer func() { err = errors.Join(err, c.tellPaged(s, m.Model, time.Since(begin))) }()
	session := m.NewSession()
	defer session.Close()
	w := &writer{s: s, m: m.Model, session: session, in: in, g: model.Generation{Sampling: params, MaxTokens: c.Max, Stop: c.Stop}}

	memory, err := openSession(m.Model, c.Session, chat)
	if err != nil {
		return err
	}
	if !chat {
		prompt, err := memory.prompt(text)
		if err != nil {
			return named(c.Model, err)
		}
		r, err := c.once(w, prompt)
		return errors.Join(err, memory.wrote(prompt, text, r))
	}
	conv, err := newConversation(w, c.System, memory)
	if err != nil {
		return named(c.Model, err)
	}
	if !given {
		return conv.loop()
	}
	prompt, err := conv.ask(text)
	if err != nil {
		return err
	}
	r, err := c.once(w, prompt)
	if err != nil && !interrupted(err) {
		return err
	}
	return errors.Join(err, conv.answered(r))
}

// tellPaged tells how paging went, on standard error.
func (c *runCommand) tellPaged(s *streams, m *model.Model, took time.Duration) error {
	report := m.PagingReport(pager.Stats{}, took)
	if report == nil || c.JSON || report.Passes == 0 {
		return nil
	}
	r := &pagingReport{PagingReport: report}
	part := m.File().Parts()[0]
	if _, ok := part.ReaderAt.(*os.File); ok {
		if speeds, err := readDiskSpeeds(); err == nil {
			r.measured, r.DiskSpeed = speeds.of(part.Path)
		}
	}
	if _, err := io.WriteString(s.err, "\n"); err != nil {
		return err
	}
	r.print(s.err)
	return nil
}

// text is what to continue; given is false if that is left to a chat.
func (c *runCommand) text(s *streams) (text string, given bool, err error) {
	switch {
	case c.Prompt != nil && c.File != "":
		return "", false, usagef("give -p or --file, not both")
	case c.Prompt != nil:
		return *c.Prompt, true, nil
	case c.File != "":
		text, err = readText(c.File, s)
		return text, true, err
	case s.term.in:
		return "", false, nil
	}
	text, err = readText("", s)
	return text, true, err
}

// once continues one prompt.
func (c *runCommand) once(w *writer, prompt []int32) (result, error) {
	if c.JSON {
		w.quiet = true
	}
	r, err := w.write(prompt)
	if c.JSON && (err == nil || r.Text != "") {
		err = errors.Join(err, writeJSON(w.s.out, r))
	}
	return r, err
}

// writer streams a generation to standard output.
type writer struct {
	s       *streams
	m       *model.Model
	session *model.Session
	in      *interrupts
	g       model.Generation
	quiet   bool
	filter  func(text string) string // of what is shown, or nil
}

// result is what a generation gave, and the JSON of run.
type result struct {
	Text         string       `json:"text"`
	Tokens       []int32      `json:"tokens"`
	PromptTokens int          `json:"prompt_tokens"`
	CachedTokens int          `json:"cached_tokens"` // of the prompt, that were not computed again
	Finish       model.Finish `json:"finish"`
}

// write continues prompt. What was written before an error is in the result.
func (w *writer) write(prompt []int32) (r result, err error) {
	ctx, done := w.in.context()
	defer done()
	r = result{PromptTokens: len(prompt), Tokens: []int32{}}
	var text strings.Builder
	bar := w.s.progress("reading the prompt", false)
	defer bar.clear()
	first := true
	w.g.Progress = func(done, total int) {
		if first {
			r.CachedTokens, first = done, false
		}
		if total > w.m.Plan().Options.Batch {
			bar.set(int64(done), int64(total))
		}
	}
	for t, err := range w.session.Generate(ctx, prompt, w.g) {
		bar.clear()
		if err != nil {
			return r.with(text.String()), err
		}
		text.WriteString(t.Text)
		if r.Tokens = append(r.Tokens, t.ID); t.Finish != "" {
			r.Finish = t.Finish
		}
		if err := w.show(t.Text); err != nil {
			return r.with(text.String()), err
		}
	}
	return r.with(text.String()), nil
}

func (r result) with(text string) result {
	r.Text = text
	return r
}

func (w *writer) show(text string) error {
	if w.quiet {
		return nil
	}
	if w.filter != nil {
		text = w.filter(text)
	}
	if _, err := io.WriteString(w.s.out, text); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// interrupted reports whether an error is the user's Ctrl-C.
func interrupted(err error) bool { return errors.Is(err, context.Canceled) }
