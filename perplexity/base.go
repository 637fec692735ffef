package perplexity

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// A base file holds the tokens of all chunks, and the log probabilities of all
// scored predictions in 16 bits each. It has the form of llama-perplexity's
// --kl-divergence-base, numbers little-endian:
//
//	"_logits_" | chunk size i32 | vocabulary i32 | chunks i32 | tokens i32 ...
//	for each scored prediction, chunk by chunk:
//	  scale f32 | least f32 | vocabulary u16 ..., padded to an even number
//
// The log probability of a token is least + scale u. Logits more than 16 below
// the largest are taken as 16 below.
const baseMagic = "_logits_"

// maxDepth is how far below the largest logit a stored one can be.
const maxDepth = 16

// rowBytes is the size of a prediction in a base file.
func rowBytes(vocab int) int { return 2 * (2*((vocab+1)/2) + 4) }

// BaseWriter writes a base file.
type BaseWriter struct {
	w   *bufio.Writer
	row []byte
}

// NewBaseWriter begins a base file.
func NewBaseWriter(w io.Writer, c Chunks, vocab int) (*BaseWriter, error) {
	b := &BaseWriter{bufio.NewWriterSize(w, 1<<20), make([]byte, rowBytes(vocab))}
	b.w.WriteString(baseMagic) // errors of a bufio.Writer stick until Flush
	for _, n := range []int{c.Size, vocab, c.Len()} {
		binary.Write(b.w, binary.LittleEndian, int32(n))
	}
	return b, binary.Write(b.w, binary.LittleEndian, c.Tokens)
}

// Add writes the prediction that follows.
func (b *BaseWriter) Add(logits []float32) error {
	top, least := float32(math.Inf(-1)), float32(math.Inf(1))
	for _, l := range logits {
		top, least = max(top, l), min(least, l)
	}
	least = max(least, top-maxDepth)
	scale := (top - least) / math.MaxUint16
	clear(b.row)
	binary.LittleEndian.PutUint32(b.row, math.Float32bits(scale))
	binary.LittleEndian.PutUint32(b.row[4:], math.Float32bits(float32(float64(least)-logSumExp(logits))))
	if scale > 0 {
		for i, l := range logits {
			u := math.RoundToEven(float64((max(l, least) - least) / scale))
			binary.LittleEndian.PutUint16(b.row[8+2*i:], uint16(min(u, math.MaxUint16)))
		}
	}
	_, err := b.w.Write(b.row)
	return err
}

// Flush ends the file.
func (b *BaseWriter) Flush() error { return b.w.Flush() }

// BaseReader reads a base file.
type BaseReader struct {
	Chunks
	Vocab int
	r     *bufio.Reader
	row   []byte
	log   []float64
}

// NewBaseReader reads the tokens of a base file of the given size in bytes.
func NewBaseReader(r io.Reader, size int64) (*BaseReader, error) {
	b := &BaseReader{r: bufio.NewReaderSize(r, 1<<20)}
	var head struct {
		Magic               [len(baseMagic)]byte
		Size, Vocab, Chunks int32
	}
	if err := binary.Read(b.r, binary.LittleEndian, &head); err != nil || string(head.Magic[:]) != baseMagic {
		return nil, fmt.Errorf("this is no file of base logits: it does not begin with %q", baseMagic)
	}
	b.Size, b.Vocab = int(head.Size), int(head.Vocab)
	tokens := int64(head.Size) * int64(head.Chunks)
	if head.Size < 4 || head.Vocab < 1 || head.Chunks < 1 || 4*tokens > size {
		return nil, fmt.Errorf("base logits of %d chunks of %d tokens, vocabulary %d, in %d bytes", head.Chunks, head.Size, head.Vocab, size)
	}
	want := int64(len(baseMagic)) + 12 + 4*tokens + int64(head.Chunks)*int64(b.Scored())*int64(rowBytes(b.Vocab))
	if size != want {
		return nil, fmt.Errorf("base logits of %d chunks of %d tokens, vocabulary %d, should have %d bytes and have %d: the run that wrote them did not end",
			head.Chunks, head.Size, head.Vocab, want, size)
	}
	b.Tokens = make([]int32, tokens)
	b.row, b.log = make([]byte, rowBytes(b.Vocab)), make([]float64, b.Vocab)
	return b, binary.Read(b.r, binary.LittleEndian, b.Tokens)
}

// Next returns the log probabilities of the prediction that follows. They are
// overwritten by the next call.
func (b *BaseReader) Next() ([]float64, error) {
	if _, err := io.ReadFull(b.r, b.row); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("base logits: %w", err)
	}
	scale := float64(math.Float32frombits(binary.LittleEndian.Uint32(b.row)))
	least := float64(math.Float32frombits(binary.LittleEndian.Uint32(b.row[4:])))
	for i := range b.log {
		b.log[i] = least + scale*float64(binary.LittleEndian.Uint16(b.row[8+2*i:]))
	}
	return b.log, nil
}
