package hipemu

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorun/hipdyn/abi"
)

// GPU describes a device.
type GPU struct {
	GFX        string // gfx1030, gfx1100, gfx1151 or gfx1201
	Name       string // default: "Emulated " and GFX
	Memory     int64  // bytes; default: 1 GiB
	Integrated bool
}

// Config describes a machine.
type Config struct {
	GPUs    []GPU
	Runtime abi.Version // default: 7.2.0. 5.x, 6.x and 7.x differ in layouts, functions and hipBLAS.
	NoBLAS  bool
	// Eager runs work as soon as it is enqueued, on threads of its own, as a
	// GPU does, and not as late as possible.
	Eager bool
	// Workers is how many work-groups run at once; default: one for each CPU.
	Workers int
}

const defaultRuntime abi.Version = 7_02_00000

// Parse reads a list of devices, "gfx1201,gfx1030" say, each with a memory
// limit if wanted: "gfx1201:64MiB". parseSize reads sizes.
func Parse(list string, parseSize func(string) (int64, error)) (Config, error) {
	var c Config
	for text := range strings.SplitSeq(list, ",") {
		gfx, size, limited := strings.Cut(strings.TrimSpace(text), ":")
		g := GPU{GFX: gfx}
		if limited {
			var err error
			if g.Memory, err = parseSize(size); err != nil {
				return Config{}, err
			}
		}
		c.GPUs = append(c.GPUs, g)
	}
	return c, c.fill()
}

var targets = []string{"gfx1030", "gfx1100", "gfx1151", "gfx1201"}

// fill sets defaults and checks.
func (c *Config) fill() error {
	if c.Runtime == 0 {
		c.Runtime = defaultRuntime
	}
	for i := range c.GPUs {
		g := &c.GPUs[i]
		if !slices.Contains(targets, g.GFX) {
			return fmt.Errorf("emulated device %q: want one of %s", g.GFX, strings.Join(targets, ", "))
		}
		if g.Name == "" {
			g.Name = "Emulated " + g.GFX
		}
		if g.Memory == 0 {
			g.Memory = 1 << 30
		}
		if g.Memory < 0 {
			return errors.New("an emulated device needs memory")
		}
		g.Integrated = g.Integrated || g.GFX == "gfx1151"
	}
	return nil
}

// visible leaves the devices that HIP_VISIBLE_DEVICES lists: indices, separated
// by commas, up to the first that is none.
func visible(gpus []GPU, list string, set bool) []GPU {
	if !set {
		return gpus
	}
	var left []GPU
	for text := range strings.SplitSeq(list, ",") {
		i, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || i < 0 || i >= len(gpus) {
			break
		}
		left = append(left, gpus[i])
	}
	return left
}
