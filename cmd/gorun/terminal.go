package main

import (
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// terminals tells which streams a person looks at.
type terminals struct {
	in, out, err bool
	color        bool // on out
}

func detectTerminals() terminals {
	is := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	t := terminals{in: is(os.Stdin), out: is(os.Stdout), err: is(os.Stderr)}
	t.color = t.out && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return t
}

// Escape sequences of dim text.
const (
	dimOn  = "\x1b[2m"
	dimOff = "\x1b[22m"
)

// progress shows a bar on standard error, if that is a terminal.
type progress struct {
	out   io.Writer // nil: nobody looks
	what  string
	bytes bool
	bar   *progressbar.ProgressBar
}

func (s *streams) progress(what string, bytes bool) *progress {
	p := &progress{what: what, bytes: bytes}
	if s.term.err {
		p.out = s.err
	}
	return p
}

func (p *progress) set(done, total int64) {
	if p.out == nil {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(p.out), progressbar.OptionSetDescription(p.what), progressbar.OptionShowBytes(p.bytes),
			progressbar.OptionSetWidth(30), progressbar.OptionUseIECUnits(true), progressbar.OptionClearOnFinish(), progressbar.OptionShowCount())
	}
	_ = p.bar.Set64(done) // a bar that cannot be drawn is not worth an end
}

// clear takes the bar away.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}
