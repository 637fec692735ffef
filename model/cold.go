package model

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"gorun/compute"
	"gorun/gguf"
	"gorun/kvtier"
	"gorun/kvtier/store"
	"gorun/policy"
)

// Cold is the cold tier of the KV cache: a directory that remembers texts
// across restarts (package kvtier/store).
type Cold struct {
	Dir   string
	Bytes int64 // most on disk, of all users and models; 0: any number
	User  string
	// FS is the file system; nil: Dir of the operating system.
	FS store.FS
}

// opening is a cold tier that is being opened, beside what else a model begins with.
type opening struct {
	done    sync.WaitGroup
	store   *store.Store // nil without a cold tier
	weights string       // the fingerprint
	err     error
}

// openCold begins to open the cold tier.
func (m *Model) openCold() *opening {
	o, cold := &opening{}, m.plan.Options.KVCold
	if cold == nil {
		return o
	}
	o.done.Go(func() {
		fs := cold.FS
		if fs == nil {
			fs = store.Dir(cold.Dir)
		}
		if o.weights, o.err = Fingerprint(m.file); o.err == nil {
			o.store, o.err = store.Open(store.Options{FS: fs, Cap: cold.Bytes, Log: m.plan.Options.Log})
		}
	})
	return o
}

// close closes the store, once it is open.
func (o *opening) close() error {
	if o.done.Wait(); o.store == nil {
		return nil
	}
	return o.store.Close()
}

// newPool makes the KV cache that the plan says.
func (m *Model) newPool(stream compute.Stream, trace *policy.Writer, cold *opening) (*kvtier.Pool, error) {
	p := m.plan
	c := kvtier.Config{
		Geometry: p.Geometry, Context: p.Options.Context, Batch: p.Options.Batch, Sequences: p.Options.Sequences, Tiers: p.tiers(),
		Log: p.Options.Log, Trace: trace,
	}
	if p.paging != nil {
		c.Pool = uint8(len(p.paging.TracePools()))
	}
	if cold.done.Wait(); cold.err != nil {
		return nil, cold.err
	}
	if m.store = cold.store; m.store != nil {
		var err error
		layout := p.Geometry.Layout(m.Name(), cold.weights, m.device.Numerics())
		if c.Cold, err = m.store.Set(p.Options.KVCold.User, layout); err != nil {
			return nil, err
		}
	}
	pool, err := kvtier.NewPool(m.device, stream, c)
	if err != nil {
		return nil, err
	}
	if c.Cold != nil || p.sizes.WarmBlocks > 0 {
		p.logTiers(m.store)
	}
	return pool, nil
}

// logTiers tells of each tier.
func (p *Plan) logTiers(s *store.Store) {
	log := p.Options.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	log.Info("KV tier", "name", "hot", "device", "cpu", "bytes", p.sizes.Hot, "blocks", p.sizes.HotBlocks)
	if p.sizes.WarmBlocks > 0 {
		log.Info("KV tier", "name", "warm", "device", "host", "bytes", p.sizes.Warm, "blocks", p.sizes.WarmBlocks)
	}
	if s != nil {
		n := "any number"
		if block := p.Geometry.BlockBytes(); s.Cap() > 0 && block > 0 {
			n = fmt.Sprint(s.Cap() / block)
		}
		log.Info("KV tier", "name", "cold", "device", p.Options.KVCold.Dir, "bytes", s.Cap(), "blocks", n)
	}
}

// Fingerprint tells models apart whose KV caches must not be mixed: it covers
// the metadata, the table of tensors, and the first 4 KiB of every tensor and
// of every expert.
func Fingerprint(f *gguf.File) (string, error) {
	h := sha256.New()
	for key, v := range f.Metadata().All() {
		value, err := v.Any()
		if err != nil {
			return "", fmt.Errorf("key %q: %w", key, err)
		}
		text, err := json.Marshal(value)
		if err != nil { // numbers that JSON has not
			text = fmt.Append(nil, value)
		}
		fmt.Fprintf(h, "%q %d %d\n", key, v.Type(), len(text))
		h.Write(text)
	}
	const sample = 4 << 10
	b := make([]byte, sample)
	for _, t := range f.Tensors() {
		fmt.Fprintf(h, "%q %v %v %d\n", t.Name, t.Type, t.Dims, t.Size)
		parts := int64(1)
		if len(t.Dims) > 2 {
			parts = max(1, t.Dims[2])
		}
		for i := range parts {
			n := min(sample, t.Size/parts)
			if _, err := f.Parts()[t.Part].ReadAt(b[:n], t.Offset+i*(t.Size/parts)); err != nil && !errors.Is(err, io.EOF) {
				return "", fmt.Errorf("tensor %q: %w", t.Name, err)
			}
			h.Write(b[:n])
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
