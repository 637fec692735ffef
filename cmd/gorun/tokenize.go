package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"gorun/model/tokenizer"
)

type tokenizeCommand struct {
	Model     string  `arg:"" help:"Model file (GGUF)."`
	Text      *string `arg:"" optional:"" help:"Text. Default: standard input."`
	File      string  `placeholder:"FILE" help:"Read the text from a file."`
	NoBOS     bool    `name:"no-bos" help:"Add none of BOS, EOS, CLS, SEP."`
	NoSpecial bool    `help:"Treat special tokens in the text as plain text."`
}

func (tokenizeCommand) Help() string {
	return "Prints a JSON array of ids.\n\nExample:\n  gorun tokenize model.gguf \"Once upon a time\""
}

func (c *tokenizeCommand) Run(s *streams) error {
	text, err := c.text(s)
	if err != nil {
		return err
	}
	tok, closeFile, err := openTokenizer(c.Model)
	if err != nil {
		return err
	}
	defer closeFile()
	ids, err := tok.Encode(text, tokenizer.Options{AddSpecial: !c.NoBOS, ParseSpecial: !c.NoSpecial})
	if err != nil {
		return err
	}
	if ids == nil {
		ids = []int32{}
	}
	return json.NewEncoder(s.out).Encode(ids)
}

func (c *tokenizeCommand) text(s *streams) (string, error) {
	if c.Text != nil {
		if c.File != "" {
			return "", usagef("give a text or --file, not both")
		}
		return *c.Text, nil
	}
	return readText(c.File, s)
}

// readText reads a whole file; "" and "-" are standard input.
func readText(path string, s *streams) (string, error) {
	if path == "" || path == "-" {
		text, err := io.ReadAll(s.in)
		return string(text), err
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// openTokenizer makes the tokenizer of a model file.
func openTokenizer(path string) (*tokenizer.Tokenizer, func() error, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, nil, err
	}
	tok, err := tokenizer.New(f.Metadata())
	if err != nil {
		return nil, nil, errors.Join(named(path, err), f.Close())
	}
	return tok, f.Close, nil
}

type detokenizeCommand struct {
	Model string `arg:"" help:"Model file (GGUF)."`
	IDs   string `arg:"" name:"ids.json" help:"File with a JSON array of ids; - is standard input."`
}

func (detokenizeCommand) Help() string {
	return "Prints the text of the ids, special tokens included, and nothing else.\n\nExample:\n  gorun tokenize model.gguf \"Once upon a time\" | gorun detokenize model.gguf -"
}

func (c *detokenizeCommand) Run(s *streams) error {
	ids, err := readIDs(c.IDs, s)
	if err != nil {
		return err
	}
	tok, closeFile, err := openTokenizer(c.Model)
	if err != nil {
		return err
	}
	defer closeFile()
	for i, id := range ids {
		if !tok.Has(id) {
			return fmt.Errorf("%s: id %d at index %d: the vocabulary has 0 to %d", c.IDs, id, i, tok.Size()-1)
		}
	}
	_, err = s.out.Write(tok.Decode(ids, tokenizer.DecodeOptions{}))
	return err
}

// readIDs reads a JSON array of ids, or an object that has one under "tokens".
func readIDs(path string, s *streams) ([]int32, error) {
	text, err := readText(path, s)
	if err != nil {
		return nil, err
	}
	var ids []int32
	if err := json.Unmarshal([]byte(text), &ids); err == nil {
		return ids, nil
	}
	var object struct{ Tokens []int32 }
	if err := json.Unmarshal([]byte(text), &object); err != nil || object.Tokens == nil {
		return nil, fmt.Errorf("%s: want a JSON array of token ids, or an object that has one under \"tokens\"", path)
	}
	return object.Tokens, nil
}
