package quantize

import (
	"context"
	"fmt"
	"io"
	"os"

	"gorun/gguf"
)

// The keys that tell how a file was quantized.
const (
	keyFileType = "general.file_type"
	keyVersion  = "general.quantization_version"

	quantizationVersion = 2 // of the block types
)

// WriteFile converts the model and writes it to path, with so many goroutines.
// A split set becomes one file. progress, if not nil, is told how many of the
// bytes of the source have been dealt with.
//
// A file at path is replaced when the new one is complete. path must not be a
// file of the model itself.
func (p *Plan) WriteFile(ctx context.Context, path string, threads int, progress func(done, total int64)) error {
	if err := p.checkTarget(path); err != nil {
		return err
	}
	w := gguf.NewWriter()
	w.CopyMetadata(p.file.Metadata())
	w.Set(keyVersion, gguf.Uint32(quantizationVersion))
	w.Set(keyFileType, gguf.Uint32(p.Recipe.FileType))

	done, total := int64(0), p.BytesBefore()
	advance := func(n int64) {
		done += n
		if progress != nil {
			progress(done, total)
		}
	}
	pool := newPool(threads)
	defer pool.close()
	for _, s := range p.Tensors {
		t := s.Source
		t.Type, t.Size = s.Type, s.Bytes
		w.AddTensor(t, p.reader(ctx, s, pool, advance))
	}
	return w.WriteFile(path)
}

// checkTarget returns an error if path is one of the files that are read.
func (p *Plan) checkTarget(path string) error {
	target, err := os.Stat(path)
	if err != nil {
		return nil // it does not exist, or writing will tell
	}
	for _, part := range p.file.Parts() {
		source, err := os.Stat(part.Path)
		if err == nil && os.SameFile(source, target) {
			return fmt.Errorf("quantize: %s is the model that is read; write to another file", path)
		}
	}
	return nil
}

// reader gives the bytes of a tensor in the new file.
func (p *Plan) reader(ctx context.Context, s Step, pool *pool, advance func(n int64)) io.Reader {
	source := p.file.Section(s.Source)
	if s.Type == s.Source.Type {
		return &copier{ctx, source, advance}
	}
	return newConverter(ctx, s, source, pool, advance)
}

// copier reads a tensor that stays as it is.
type copier struct {
	ctx     context.Context
	source  io.Reader
	advance func(n int64)
}

func (c *copier) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.source.Read(b)
	c.advance(int64(n))
	return n, err
}
