package model

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"

	"gorun/compute"
	"gorun/compute/cpu"
	"gorun/internal/pageio"
	"gorun/tensor"
)

// Options say how a model is run. The zero value is a good default.
type Options struct {
	// Context is the most tokens of a sequence; 0: what the model was
	// trained for, or as much of that as fits into Memory.
	Context int
	// Memory is how many bytes the model may take; 0: any. A plan that needs
	// more is ErrMemory.
	Memory int64
	// Batch is the most tokens that one pass computes; 0: 512. It changes
	// speed and memory, never a bit of the result.
	Batch int
	// Sequences is how many sequences of Context tokens have room; 0: one.
	Sequences int
	// Threads that compute; 0: one for each CPU.
	Threads int
	// KV is the types of the KV cache; nil: f16.
	KV *KVTypes
	// KVBlock is the positions of a KV block; 0: chosen by geometry.
	KVBlock int
	// KVHot and KVWarm are the bytes of the hot and the warm tier of the KV
	// cache. With KVHot 0 all of it is hot; with KVWarm 0 there is no such
	// tier. What has no room in them needs KVCold. None of them changes a bit
	// of the result.
	KVHot, KVWarm int64
	// KVShares, if not nil, are percentages of the KV cache of Context tokens
	// that are hot, warm and cold, in place of KVHot and KVWarm.
	KVShares *[3]int
	// KVCold keeps the KV cache on disk; nil: it ends with the model.
	KVCold *Cold
	// Log is told what is slow, lost or refused; nil: nobody.
	Log *slog.Logger
	// Weights says where weights are kept.
	Weights Residency
	// WeightsMemory is the memory for paged weights; 0: what Memory leaves.
	WeightsMemory int64
	// VerifyWeights holds paged weights against the checksums beside the model
	// file when they are read for the first time; WriteChecksums makes them.
	VerifyWeights bool
	// Trace is a file to record every page decision in.
	Trace string
	// Device computes; nil: the CPU. It stays open when the model is closed.
	Device compute.Device
	// Reference computes with the CPU's reference kernels, if Device is nil.
	Reference bool
	// Progress is told of the bytes of weights read so far, by Open.
	Progress func(done, total int64)

	// For tests of paging: see pager.Config.
	readers   int
	tail      byte
	wrapFiles func(pageio.Handle) pageio.Handle
}

// newCPU makes the device that a nil Device stands for.
func (o Options) newCPU() (compute.Device, error) {
	if o.Reference {
		return cpu.NewReference(o.Threads)
	}
	return cpu.New(o.Threads)
}

// workspace is what a stream of the device will take.
func (o Options) workspace(w compute.Work) int64 {
	switch {
	case o.Device != nil:
		return o.Device.Workspace(w)
	case o.Reference:
		return 0
	}
	return cpu.Workspace(o.Threads, w)
}

// KVTypes are the element types of keys and values in the KV cache.
type KVTypes struct{ K, V tensor.Type }

// UnmarshalText reads "K" or "K:V", as in "f16" or "q8_0:f16".
func (t *KVTypes) UnmarshalText(text []byte) error {
	k, v, both := strings.Cut(string(text), ":")
	if !both {
		v = k
	}
	var err error
	if t.K, err = tensor.ParseKVType(k); err != nil {
		return err
	}
	t.V, err = tensor.ParseKVType(v)
	return err
}

// String is the inverse of UnmarshalText.
func (t KVTypes) String() string {
	if t.K == t.V {
		return t.K.String()
	}
	return t.K.String() + ":" + t.V.String()
}

// Residency says where the weights of a model are kept.
type Residency string

// The residencies.
const (
	ResidentAuto   Residency = ""         // all in memory if that fits, paged otherwise
	Resident       Residency = "resident" // all in memory, mapped where that works
	ResidentMapped Residency = "mapped"   // in place in the mapped file
	ResidentMemory Residency = "memory"   // read into the device's memory
	ResidentPaged  Residency = "paged"    // some in memory, read from the file as needed
)

// withDefaults fills in and checks what does not depend on the model.
func (o Options) withDefaults() (Options, error) {
	for _, n := range []struct {
		name  string
		value *int
		def   int
	}{
		{"context", &o.Context, 0}, {"batch", &o.Batch, 512}, {"sequences", &o.Sequences, 1},
		{"threads", &o.Threads, runtime.GOMAXPROCS(0)}, {"kv block", &o.KVBlock, 0},
	} {
		if *n.value < 0 || *n.value > maxSize {
			return o, fmt.Errorf("%s %d is out of range", n.name, *n.value)
		}
		if *n.value == 0 {
			*n.value = n.def
		}
	}
	if o.KV == nil {
		o.KV = &KVTypes{tensor.F16, tensor.F16}
	}
	if o.KVHot < 0 || o.KVWarm < 0 || o.KVCold != nil && o.KVCold.Bytes < 0 {
		return o, errors.New("sizes of KV tiers are not negative")
	}
	if k := o.KVShares; k != nil && (min(k[0], k[1], k[2]) < 0 || k[0]+k[1]+k[2] != 100) {
		return o, fmt.Errorf("shares of KV tiers %d, %d and %d: want percentages that add up to 100", k[0], k[1], k[2])
	}
	switch o.Weights {
	case ResidentAuto, Resident, ResidentMapped, ResidentMemory, ResidentPaged:
	default:
		return o, fmt.Errorf("weights %q: want resident, mapped, memory or paged", o.Weights)
	}
	return o, nil
}
