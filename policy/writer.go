package policy

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"
	"time"
)

// Writer writes a trace as things happen. It may be used by several
// goroutines, and a nil Writer records nothing.
type Writer struct {
	mu    sync.Mutex
	out   io.WriteCloser
	began time.Time
	coder coder
	block []byte
	err   error
}

// Create begins a trace in a new file.
func Create(path string, h Header) (*Writer, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	w, err := NewWriter(f, h)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return w, nil
}

// NewWriter begins a trace. It closes out in the end.
func NewWriter(out io.WriteCloser, h Header) (*Writer, error) {
	if len(h.Pools) > mostPools {
		return nil, fmt.Errorf("trace: %d pools are more than %d", len(h.Pools), mostPools)
	}
	if h.Began.IsZero() {
		h.Began = time.Now()
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	w := &Writer{out: out, began: h.Began}
	if _, err := io.WriteString(out, magic); err != nil {
		return nil, err
	}
	w.write(text)
	return w, w.err
}

// Record adds an event that happens now. A trace that cannot be written costs
// the trace, not the run: Close returns the error.
func (w *Writer) Record(e Event) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// Times are kept to the microsecond, and in order.
	e.Time = max(time.Since(w.began).Truncate(time.Microsecond), w.coder.last.Time)
	w.add(e)
}

func (w *Writer) add(e Event) {
	w.block = w.coder.append(w.block, e)
	if len(w.block) >= blockBytes {
		w.flush()
	}
}

// flush ends a block.
func (w *Writer) flush() {
	if len(w.block) > 0 {
		w.write(w.block)
	}
	w.block, w.coder = w.block[:0], coder{}
}

// write writes one block.
func (w *Writer) write(payload []byte) {
	if w.err != nil {
		return
	}
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, blockHeader+len(payload)), uint32(len(payload)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(payload, castagnoli))
	_, w.err = w.out.Write(append(b, payload...))
}

// Close writes what is left and closes the file.
func (w *Writer) Close() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
	err := errors.Join(w.err, w.out.Close())
	w.err = errors.New("trace: closed")
	return err
}
