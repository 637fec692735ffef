package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"gorun/model/chat/jinja"
)

// Template is a chat template. It may be used by several goroutines at once.
type Template struct {
	source string
	parsed *jinja.Template
	traits func() traits
}

// Parse reads the text of tokenizer.chat_template.
func Parse(source string) (*Template, error) {
	parsed, err := jinja.Parse("chat_template", source)
	if err != nil {
		return nil, err
	}
	t := &Template{source: source, parsed: parsed}
	t.traits = sync.OnceValue(func() traits { return probe(parsed) })
	return t, nil
}

// Source is the text that was parsed.
func (t *Template) Source() string { return t.source }

// Input is what a prompt is made of.
type Input struct {
	Messages            json.RawMessage // array of OpenAI messages; see Encode
	Tools               json.RawMessage // array of OpenAI tools; empty, null and [] mean none
	AddGenerationPrompt bool            // end with the opening of the assistant's turn
	BOS, EOS            string          // text of these tokens
	Extra               json.RawMessage // object of further variables (chat_template_kwargs); may be empty
	Now                 func() time.Time
	Limits              jinja.Limits // zero fields take defaults that grow with the input
}

// InputError says what is wrong with an Input, in contrast to errors of the
// template, which are *jinja.Error.
type InputError struct{ Text string }

// Error gives the text.
func (e *InputError) Error() string { return e.Text }

func inputErrorf(format string, a ...any) error { return &InputError{fmt.Sprintf(format, a...)} }

// Render makes the prompt.
func (t *Template) Render(ctx context.Context, in Input) (string, error) {
	conv, err := readMessages(in.Messages)
	if err != nil {
		return "", err
	}
	if err := t.adapt(conv); err != nil {
		return "", err
	}
	vars, err := variables(in)
	if err != nil {
		return "", err
	}
	o := jinja.Options{Now: in.Now, Limits: limitsFor(in)}
	vars.Set("messages", conv.list)
	text, err := t.parsed.Render(ctx, vars, o)
	if err == nil || !conv.parsedArguments || !retryable(err) {
		return text, err
	}
	asText, textErr := readRaw(in.Messages)
	if textErr != nil {
		return "", err
	}
	if t.adapt(asText) != nil {
		return "", err
	}
	vars.Set("messages", asText.list)
	if text, textErr = t.parsed.Render(ctx, vars, o); textErr != nil {
		return "", err
	}
	return text, nil
}

// retryable says whether an error can come from arguments being a mapping: not
// if the template raised it, or a bound or the context ended the rendering.
func retryable(err error) bool {
	var e *jinja.Error
	return errors.As(err, &e) && !e.Raised && !errors.Is(err, jinja.ErrLimit) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// variables makes all of them but messages.
func variables(in Input) (*jinja.Dict, error) {
	vars := jinja.NewDict()
	if len(in.Tools) > 0 {
		v, err := jinja.DecodeJSON(in.Tools)
		if err != nil {
			return nil, inputErrorf("tools: %v", err)
		}
		list, ok := v.(*jinja.List)
		if !ok && v != nil {
			return nil, inputErrorf("tools must be an array")
		}
		if ok && len(list.Items) > 0 {
			vars.Set("tools", list)
		}
	}
	vars.Set("bos_token", in.BOS)
	vars.Set("eos_token", in.EOS)
	vars.Set("add_generation_prompt", in.AddGenerationPrompt)
	if len(in.Extra) == 0 {
		return vars, nil
	}
	v, err := jinja.DecodeJSON(in.Extra)
	if err != nil {
		return nil, inputErrorf("chat_template_kwargs: %v", err)
	}
	extra, ok := v.(*jinja.Dict)
	if !ok && v != nil {
		return nil, inputErrorf("chat_template_kwargs must be an object")
	}
	if !ok {
		return vars, nil
	}
	for _, k := range extra.Keys() {
		switch k {
		case "messages", "tools", "add_generation_prompt":
			return nil, inputErrorf("chat_template_kwargs cannot set %q", k)
		}
		v, _ := extra.Get(k)
		vars.Set(k, v)
	}
	return vars, nil
}

// limitsFor fills in limits that any honest template keeps for this input: some
// build the prompt by appending, message after message, to one string.
func limitsFor(in Input) jinja.Limits {
	l := in.Limits
	size := len(in.Messages) + len(in.Tools) + len(in.Extra)
	if l.Output <= 0 {
		l.Output = 4<<20 + 16*size
	}
	if l.Size <= 0 {
		l.Size = l.Output
	}
	if l.Memory <= 0 {
		l.Memory = 256<<20 + 256*size
	}
	return l
}
