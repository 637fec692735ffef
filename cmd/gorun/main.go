// Command gorun runs GGUF language models.
//
// Exit codes: 0 done; 1 an error, told on standard error; 2 the command line
// was wrong; 3 the model does not fit into memory; 130 interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/alecthomas/kong"

	"gorun/model"
)

const (
	exitError       = 1
	exitUsage       = 2
	exitDoesNotFit  = 3
	exitInterrupted = 130
)

// commands is the command line.
type commands struct {
	Run        runCommand        `cmd:"" help:"Continue a text, or chat."`
	Inspect    inspectCommand    `cmd:"" help:"Show what a model file holds and whether it runs here."`
	Plan       planCommand       `cmd:"" help:"Show the memory that a model needs, before anything is allocated."`
	Tokenize   tokenizeCommand   `cmd:"" help:"Turn text into token ids."`
	Detokenize detokenizeCommand `cmd:"" help:"Turn token ids into text."`
	Template   templateCommand   `cmd:"" help:"Render a chat template."`
	Logits     logitsCommand     `cmd:"" help:"Write the logits at every position, for comparing engines."`
	Bench      benchCommand      `cmd:"" help:"Measure speed, beside what the machine can do at best."`
	Perplexity perplexityCommand `cmd:"" help:"Measure how well a model predicts a text."`
	Quantize   quantizeCommand   `cmd:"" help:"Turn a model into a smaller one."`
	Synth      synthCommand      `cmd:"" help:"Make a model with random weights in the shape of a real one."`
	Selftest   selftestCommand   `cmd:"" help:"Check the kernels of this CPU against known answers."`
	Devices    devicesCommand    `cmd:"" help:"List the GPUs that HIP finds, or why it finds none."`
	KV         kvCommand         `cmd:"" name:"kv" help:"Work on the texts that are remembered: ls, check, show, prune."`
	Audit      auditCommand      `cmd:"" help:"Replay a trace of page decisions under other policies."`
	Version    versionCommand    `cmd:"" help:"Show the version."`

	VersionLine kong.VersionFlag `name:"version" short:"V" env:"-" help:"Show the version in one line."`
}

const description = `Runs GGUF language models on the CPU.

Exit codes: 0 done, 1 error, 2 wrong command line, 3 the model does not fit into memory, 130 interrupted.
Every flag --some-flag can be set as GORUN_SOME_FLAG.

Example:
  gorun run -p "Dorothy"            the embedded model continues a text
  gorun run model.gguf              chat with a model
  gorun inspect model.gguf`

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
	term     terminals
}

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{ReplaceAttr: dropTime})))
	s := &streams{in: os.Stdin, out: os.Stdout, err: os.Stderr, term: detectTerminals()}
	os.Exit(execute(os.Args[1:], s))
}

// dropTime leaves the time out of log lines: they are read as they come.
func dropTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// execute runs one command line and returns the exit code.
func execute(args []string, s *streams) (code int) {
	exited := -1
	parser, err := kong.New(&commands{},
		kong.Name("gorun"), kong.Description(description), kong.UsageOnError(), kong.DefaultEnvars("GORUN"),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Writers(s.out, s.err),
		kong.Exit(func(code int) { exited = code }), kong.Bind(s), defaults(), kong.WithHyphenPrefixedParameters(true),
	)
	if err != nil {
		panic(err) // the struct tags above are wrong
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if exited >= 0 { // --help has been shown
		return exited
	}
	if err != nil {
		fmt.Fprintf(s.err, "gorun: %v\nTry gorun --help, or gorun COMMAND --help.\n", err)
		return exitUsage
	}
	interrupts := catchInterrupts(s.err)
	defer interrupts.stop()
	if err = parsed.Run(interrupts); err != nil {
		return report(err, s)
	}
	return 0
}

// report tells an error and returns its exit code.
func report(err error, s *streams) int {
	var usage usageError
	switch {
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &usage):
		fmt.Fprintf(s.err, "gorun: %v\n", err)
		return exitUsage
	case errors.Is(err, model.ErrMemory):
		fmt.Fprintf(s.err, "gorun: %v\nA smaller --ctx or --batch takes less; --memory says how much may be used; gorun plan shows what is needed.\n", err)
		return exitDoesNotFit
	}
	fmt.Fprintf(s.err, "gorun: %v\n", err)
	return exitError
}

// usageError is a wrong use of the command line that the parser cannot see.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }
