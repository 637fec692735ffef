package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"gorun/gguf"
	"gorun/internal/pageio"
	"gorun/internal/pageio/faulty"
	"gorun/pager"
	"gorun/tensor"
)

// faultModel is a model whose smallest pool reads all the time, in a file of its
// own.
type faultModel struct {
	t      *testing.T
	path   string
	file   *gguf.File
	model  *Model
	faults *faulty.Faults
	want   []float32 // of tokens 0, 1, 2 ...
}

const faultTokens = 6

func newFaultModel(t *testing.T, name string, faults *faulty.Faults, o Options) *faultModel {
	t.Helper()
	raw, err := os.ReadFile(loadGolden(t, name).path)
	if err != nil {
		t.Fatal(err)
	}
	m := &faultModel{t: t, path: filepath.Join(t.TempDir(), "model.gguf"), faults: faults}
	if err := os.WriteFile(m.path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Millisecond) // clocks of file systems are coarse
	if m.file, err = gguf.Open(m.path); err != nil {
		t.Fatal(err)
	}
	o.Context, o.Threads, o.Weights = 64, 2, Resident
	o.KV = &KVTypes{tensor.F32, tensor.F32}
	m.model = m.open(o)
	m.want = m.mustRun()
	if err := m.model.Close(); err != nil {
		t.Fatal(err)
	}
	o.WeightsMemory = leastPool(t, m.file, o)
	o.Weights, o.wrapFiles = ResidentPaged, faults.Wrap
	m.model = m.open(o)
	return m
}

func (m *faultModel) open(o Options) *Model {
	m.t.Helper()
	opened, err := New(context.Background(), m.file, o)
	if err != nil {
		m.t.Fatal(err)
	}
	return opened
}

func (m *faultModel) run(ctx context.Context) (all []float32, err error) {
	seq := m.model.NewSequence()
	defer seq.Free()
	for i := range int32(faultTokens) {
		err := m.model.Forward(ctx, []Run{{seq, []int32{i + 3}, AllLogits}}, func(_, _ int, logits []float32) error {
			all = append(all, logits...)
			return nil
		})
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

func (m *faultModel) mustRun() []float32 {
	m.t.Helper()
	all, err := m.run(context.Background())
	if err != nil {
		m.t.Fatal(err)
	}
	return all
}

// close wants nothing left: pages that are held, or goroutines.
func (m *faultModel) close(goroutines int) {
	m.t.Helper()
	if err := errors.Join(m.model.Close(), m.file.Close()); err != nil {
		m.t.Error(err)
	}
	for range 100 {
		if runtime.NumGoroutine() <= goroutines {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	m.t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
}

// told wants an error that names the file, a tensor and an offset.
func (m *faultModel) told(err, want error) {
	m.t.Helper()
	if !errors.Is(err, want) || !strings.Contains(err.Error(), m.path) || !strings.Contains(err.Error(), "offset ") || !strings.Contains(err.Error(), ".weight") {
		m.t.Errorf("got %q, want %q with file, tensor and offset", fmt.Sprint(err), want)
	}
}

// changes are what may happen to the file of a model that runs.
func changes(f *gguf.File) map[string]func(m *faultModel) error {
	part := f.Parts()[0]
	cuts := map[string]int64{
		"to nothing":      0,
		"in the magic":    2,
		"in the header":   10,
		"in the metadata": 200,
		// The list of tensors ends before the padding.
		"in the list of tensors": part.DataOffset - 100,
		"in the padding":         part.DataOffset - 1,
		"at the data":            part.DataOffset,
		"by one byte":            part.Size - 1,
	}
	for _, x := range f.Tensors() {
		cuts["in "+x.Name] = x.Offset + x.Size/2
	}
	all := map[string]func(m *faultModel) error{
		"deleted":                     func(m *faultModel) error { return os.Remove(m.path) },
		"written to":                  func(m *faultModel) error { return scribble(m.path, f.Tensors()[0].Offset+9) },
		"written to what is not used": func(m *faultModel) error { return scribble(m.path, 100) },
		"replaced": func(m *faultModel) error {
			raw, err := os.ReadFile(m.path)
			other := m.path + ".new"
			return errors.Join(err, os.WriteFile(other, raw, 0o644), os.Rename(other, m.path))
		},
	}
	for name, at := range cuts {
		all["truncated "+name] = func(m *faultModel) error { return os.Truncate(m.path, at) }
	}
	return all
}

// TestPagedFileChanges changes the file under a model that runs, in every way,
// at every section, and wants an error; and logits up to it that are right. A
// second model, and one that is opened when the file is whole again, go on.
func TestPagedFileChanges(t *testing.T) {
	before := runtime.NumGoroutine()
	other := newFaultModel(t, "qwen3moe-experts.q4_0", &faulty.Faults{}, Options{})
	m := newFaultModel(t, "llama-ropefreqs.q8_0", &faulty.Faults{}, Options{})
	whole, err := os.ReadFile(m.path)
	if err != nil {
		t.Fatal(err)
	}
	goroutines := runtime.NumGoroutine()
	o := m.model.plan.Options
	for name, change := range changes(m.file) {
		if testing.Short() && strings.Contains(name, " in blk") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			m.t = t
			if d := differ(m.mustRun(), m.want); d != "" {
				t.Error(d)
			}
			if err := change(m); err != nil {
				t.Fatal(err)
			}
			for range 2 { // as long as it is asked
				got, err := m.run(context.Background())
				m.told(err, pageio.ErrChanged)
				if d := differ(got, m.want[:len(got)]); d != "" {
					t.Error(d)
				}
			}
			if d := differ(other.mustRun(), other.want); d != "" {
				t.Errorf("the other model: %s", d)
			}
			m.close(goroutines)
			if err := os.WriteFile(m.path, whole, 0o644); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond) // clocks of file systems are coarse
			if m.file, err = gguf.Open(m.path); err != nil {
				t.Fatal(err)
			}
			m.model = m.open(o)
		})
	}
	m.t = t
	m.close(goroutines)
	other.close(before)
}

func scribble(path string, at int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte{0x55}, at)
	return errors.Join(err, f.Close())
}

// TestPagedReadsFail lets the n-th read fail, for many n, and wants an error and
// then the right bits.
func TestPagedReadsFail(t *testing.T) {
	names, most := []string{"llama-ropefreqs.q8_0", "qwen3moe-experts.q4_0"}, int64(300)
	if testing.Short() {
		names, most = names[1:], 40
	}
	for _, name := range names {
		goroutines := runtime.NumGoroutine()
		faults := &faulty.Faults{}
		m := newFaultModel(t, name, faults, Options{})
		m.mustRun()
		for n := int64(1); n < most; n += 1 + n/4 {
			faults.Change(func(next int64) { faults.EIO = next + n - 1 })
			_, err := m.run(context.Background())
			for range 10 { // read ahead, and not needed yet
				if err == nil {
					_, err = m.run(context.Background())
				}
			}
			m.told(err, syscall.EIO)
			if d := differ(m.mustRun(), m.want); d != "" {
				t.Errorf("%s, after read %d: %s", name, n, d)
			}
		}
		m.close(goroutines)
	}
}

// TestPagedShortReads gives a byte less than was asked for, once and always.
func TestPagedShortReads(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	faults := &faulty.Faults{}
	m := newFaultModel(t, "llama-ropefreqs.q8_0", faults, Options{})
	times := 20
	if testing.Short() {
		times = 3
	}
	for range times {
		faults.Change(func(next int64) { faults.Short, faults.ShortAt = 1, next+4 })
		if d := differ(m.mustRun(), m.want); d != "" {
			t.Errorf("one short read: %s", d)
		}
	}
	faults.Change(func(int64) { faults.ShortAt = 0 })
	_, err := m.run(context.Background())
	m.told(err, io.ErrUnexpectedEOF)
	m.close(goroutines)
}

// TestPagedCancel cancels runs at some moment while the disk is slow.
func TestPagedCancel(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	faults := &faulty.Faults{}
	m := newFaultModel(t, "qwen3moe-experts.q4_0", faults, Options{})
	block := make(chan struct{})
	faults.Change(func(int64) { faults.Delay = func() { <-block } }) // for ever, as far as the run can tell
	for i := range 5 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*3*time.Millisecond)
		begin := time.Now()
		if _, err := m.run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if d := time.Since(begin); d > 2*time.Second {
			t.Errorf("it took %v to stop", d)
		}
		cancel()
	}
	close(block)
	if d := differ(m.mustRun(), m.want); d != "" {
		t.Error(d)
	}
	m.close(goroutines)
}

// TestVerifyWeights changes a byte of a file that keeps its time, and of its
// checksums.
func TestVerifyWeights(t *testing.T) {
	m := newFaultModel(t, "qwen3moe-experts.q4_0", &faulty.Faults{}, Options{})
	path, err := WriteChecksums(context.Background(), m.file, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := m.model.plan.Options
	if err := m.model.Close(); err != nil {
		t.Fatal(err)
	}
	o.VerifyWeights = true
	m.model = m.open(o)
	if d := differ(m.mustRun(), m.want); d != "" {
		t.Error(d)
	}
	if err := m.model.Close(); err != nil {
		t.Fatal(err)
	}
	// Damage of the disk that no clock shows: before the model is opened.
	x, _ := m.file.Tensor("blk.1.attn_output.weight")
	if err := scribble(m.path, x.Offset+x.Size/2); err != nil {
		t.Fatal(err)
	}
	m.model = m.open(o)
	_, err = m.run(context.Background())
	m.told(err, pager.ErrChecksum)
	if err := m.model.Close(); err != nil {
		t.Fatal(err)
	}
	if err := scribble(path, 5); err != nil {
		t.Fatal(err)
	}
	if _, err := New(context.Background(), m.file, o); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("damaged checksums: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := New(context.Background(), m.file, o); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no checksums: %v", err)
	}
	if err := m.file.Close(); err != nil {
		t.Error(err)
	}
}
