package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gorun/internal/units"
	"gorun/model"
)

// kvFlags say where the KV cache is.
type kvFlags struct {
	KVHot    units.Size `group:"Engine" placeholder:"SIZE" help:"KV cache in the memory of the device that computes. Default: all of it."`
	KVWarm   string     `group:"Engine" placeholder:"[DEVICE:]SIZE" help:"KV cache that follows, in the host's memory (device ram)."`
	KVCold   string     `group:"Engine" placeholder:"DIR[:SIZE]" help:"Keep the KV cache in a directory, of all texts at most so much. Default size: ${kvcold}."`
	KVTiered string     `group:"Engine" placeholder:"HOT,WARM,COLD" help:"Shares of the KV cache of --ctx tokens, in percent, in place of sizes: 25,25,50."`
}

// defaultCold bounds the directory of those who do not say.
const defaultCold = 32 * units.GiB

// set puts the flags into options.
func (f *kvFlags) set(o *model.Options) error {
	o.KVHot, o.Log = int64(f.KVHot), slog.Default()
	if f.KVWarm != "" {
		device, size, both := strings.Cut(f.KVWarm, ":")
		if !both {
			device, size = "ram", f.KVWarm
		}
		if device != "ram" {
			return usagef("--kv-warm %s: there is no device %q for a warm tier: there is ram, the host's memory, as in --kv-warm ram:1GiB", f.KVWarm, device)
		}
		n, err := units.ParseSize(size)
		if err != nil {
			return usagef("--kv-warm %s: %v", f.KVWarm, err)
		}
		o.KVWarm = int64(n)
	}
	if f.KVCold != "" {
		cold, err := parseCold(f.KVCold)
		if err != nil {
			return err
		}
		o.KVCold = cold
	}
	if f.KVTiered == "" {
		return nil
	}
	if f.KVHot != 0 || f.KVWarm != "" {
		return usagef("give --kv-tiered, or --kv-hot and --kv-warm, not both")
	}
	shares := new([3]int)
	parts := strings.Split(f.KVTiered, ",")
	sum := 0
	for i, part := range parts {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 || len(parts) != 3 {
			return usagef("--kv-tiered %s: want three percentages, as in 25,25,50", f.KVTiered)
		}
		shares[i] = n
		sum += n
	}
	if sum != 100 {
		return usagef("--kv-tiered %s: the shares add up to %d, not to 100", f.KVTiered, sum)
	}
	o.KVShares = shares
	if shares[2] > 0 && o.KVCold == nil {
		return usagef("--kv-tiered %s: a cold share needs --kv-cold DIR", f.KVTiered)
	}
	return nil
}

// parseCold reads DIR[:SIZE]. What begins with a digit is meant to be a size,
// unless it is a part of a path.
func parseCold(text string) (*model.Cold, error) {
	cold := &model.Cold{Dir: text, Bytes: int64(defaultCold)}
	if at := strings.LastIndexByte(text, ':'); at > 0 {
		size := text[at+1:]
		n, err := units.ParseSize(size)
		switch {
		case err == nil:
			cold.Dir, cold.Bytes = text[:at], int64(n)
		case size != "" && '0' <= size[0] && size[0] <= '9' && !strings.ContainsAny(size, `/\`):
			return nil, usagef("--kv-cold %s: %v", text, err)
		}
	}
	if cold.Bytes == 0 {
		return nil, usagef("--kv-cold %s: a size of 0 keeps nothing: leave the flag out", text)
	}
	return cold, nil
}

// defaultKVDir is where texts are remembered if nobody says where.
func defaultKVDir() (string, error) {
	for _, v := range []struct{ name, below string }{{"XDG_STATE_HOME", ""}, {"XDG_CACHE_HOME", ""}, {"HOME", ".local/state"}} {
		if dir := os.Getenv(v.name); filepath.IsAbs(dir) {
			return filepath.Join(dir, v.below, "gorun", "kv"), nil
		}
	}
	return "", fmt.Errorf("no directory to remember texts in: give --kv-cold DIR, or set XDG_STATE_HOME")
}
