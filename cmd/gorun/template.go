package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"gorun/model"
	"gorun/model/chat"
	"gorun/model/tokenizer"
)

type templateCommand struct {
	Source             string `arg:"" name:"model" help:"Model file (GGUF), or a template (FILE.jinja)."`
	Messages           string `arg:"" name:"messages.json" help:"JSON array of OpenAI messages; - is standard input."`
	Tools              string `placeholder:"TOOLS.json" help:"JSON array of OpenAI tools."`
	NoGenerationPrompt bool   `help:"Do not open the assistant's turn."`
	Kwargs             string `placeholder:"JSON" help:"JSON object of further variables, as {\"enable_thinking\": false}."`
}

func (templateCommand) Help() string {
	return "Prints the prompt that the chat template makes of the messages, and nothing else.\n\nExample:\n  gorun template model.gguf messages.json --tools tools.json"
}

func (c *templateCommand) Run(s *streams, in *interrupts) error {
	source, bos, eos, err := c.template(s)
	if err != nil {
		return err
	}
	t, err := chat.Parse(source)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Source, err)
	}
	input := chat.Input{AddGenerationPrompt: !c.NoGenerationPrompt, BOS: bos, EOS: eos, Extra: json.RawMessage(c.Kwargs)}
	if input.Messages, err = readJSON(c.Messages, s); err != nil {
		return err
	}
	if c.Tools != "" {
		if input.Tools, err = readJSON(c.Tools, s); err != nil {
			return err
		}
	}
	ctx, done := in.context()
	defer done()
	text, err := t.Render(ctx, input)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Source, err)
	}
	_, err = io.WriteString(s.out, text)
	return err
}

// template is the text of the template, and how it spells BOS and EOS.
func (c *templateCommand) template(s *streams) (source, bos, eos string, err error) {
	if !strings.HasSuffix(strings.ToLower(c.Source), ".gguf") {
		source, err = readText(c.Source, s)
		return source, "", "", err
	}
	f, err := openFile(c.Source)
	if err != nil {
		return "", "", "", err
	}
	defer f.Close()
	source, ok, err := f.Metadata().String("tokenizer.chat_template")
	if err == nil && !ok {
		err = fmt.Errorf("the file has no chat template")
	}
	if err != nil {
		return "", "", "", named(c.Source, err)
	}
	tok, err := tokenizer.New(f.Metadata())
	if err != nil {
		return "", "", "", named(c.Source, err)
	}
	bos, eos = model.SpecialTexts(tok)
	return source, bos, eos, nil
}

func readJSON(path string, s *streams) (json.RawMessage, error) {
	text, err := readText(path, s)
	if err != nil {
		return nil, err
	}
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("%s is not JSON", path)
	}
	return json.RawMessage(text), nil
}
