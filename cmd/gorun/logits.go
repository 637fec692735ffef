package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"os"

	"gorun/model"
)

type logitsCommand struct {
	Model  string `arg:"" help:"Model file (GGUF)."`
	Tokens string `required:"" placeholder:"IDS.json" help:"JSON array of token ids, or an object that has one under \"tokens\"."`
	Out    string `required:"" placeholder:"FILE.f32" help:"File to write."`
	Chunk  int    `placeholder:"N" help:"Feed so many tokens at a time. Default: all at once."`
	engineFlags
}

func (logitsCommand) Help() string {
	return "Writes little-endian float32 [n][vocabulary], the logits after each of the n tokens. With --reference the KV cache is f32 unless --kv says otherwise.\n\nExample:\n  gorun logits model.gguf --tokens ids.json --out logits.f32 --reference"
}

func (c *logitsCommand) Run(s *streams, in *interrupts) (err error) {
	ids, err := readIDs(c.Tokens, s)
	if err != nil {
		return err
	}
	if c.Chunk < 0 {
		return usagef("--chunk %d: want a positive number", c.Chunk)
	}
	if c.Reference && c.KV == "" {
		c.KV = "f32"
	}
	ctx, done := in.context()
	defer done()
	m, err := c.load(ctx, c.Model, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()

	file, err := os.Create(c.Out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	out := bufio.NewWriterSize(file, 1<<20)
	seq := m.NewSequence()
	chunk := c.Chunk
	if chunk == 0 {
		chunk = max(len(ids), 1)
	}
	bar := s.progress("computing", false)
	defer bar.clear()
	for at := 0; at < len(ids); at += chunk {
		run := model.Run{Seq: seq, Tokens: ids[at:min(at+chunk, len(ids))], Want: model.AllLogits}
		err := m.Forward(ctx, []model.Run{run}, func(_, i int, logits []float32) error {
			bar.set(int64(at+i+1), int64(len(ids)))
			return binary.Write(out, binary.LittleEndian, logits)
		})
		if err != nil {
			return err
		}
	}
	return out.Flush()
}
