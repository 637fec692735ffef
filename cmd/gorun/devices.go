package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"

	"gorun/hipdyn"
	"gorun/hipdyn/hipemu"
	"gorun/internal/units"
	"gorun/kernels"
)

type devicesCommand struct {
	hipFlags
	JSON bool `name:"json" help:"Print JSON."`
}

// hipFlags say where GPUs come from.
type hipFlags struct {
	Emulate string `placeholder:"GFX,..." help:"Use emulated GPUs in place of real ones: ${targets}, with a memory size if wanted, as in gfx1201:64MiB."`
}

func (devicesCommand) Help() string {
	return `Lists the AMD GPUs that HIP finds, and whether there are kernels for them. Where none is found it tells what was tried and why it failed, and exits with 0 all the same.

HIP (libamdhip64, a part of ROCm) is looked for in $ROCM_PATH/lib, where the dynamic loader looks, and in /opt/rocm. HIP_VISIBLE_DEVICES says which devices HIP shows.

Examples:
  gorun devices
  gorun devices --json | jq '.devices[].gfx'
  gorun devices --emulate gfx1030,gfx1201`
}

// devicesReport is what became of the search for GPUs, and the JSON of devices.
type devicesReport struct {
	Library string         `json:"library,omitempty"`
	Runtime string         `json:"runtime,omitempty"`
	Driver  string         `json:"driver,omitempty"`
	Devices []deviceReport `json:"devices"`
	Why     []string       `json:"why,omitempty"`    // there are no devices
	Tried   []string       `json:"tried,omitempty"`  // libraries that could not be loaded
	Hiding  []string       `json:"hiding,omitempty"` // settings that hide devices
	Nodes   []hipdyn.Node  `json:"driver_nodes,omitempty"`
	Cards   []hipdyn.Card  `json:"cards,omitempty"`
}

// deviceReport is one GPU.
type deviceReport struct {
	hipdyn.Info
	FreeMemory int64        `json:"free_memory"`
	Kernels    bool         `json:"kernels"` // there are kernels for it
	Card       *hipdyn.Card `json:"card,omitempty"`
	Error      string       `json:"error,omitempty"`
}

func (c *devicesCommand) Run(s *streams) (err error) {
	r := devicesReport{Devices: []deviceReport{}}
	lib, closeLibrary, err := c.openHIP()
	if err != nil {
		return err
	}
	r.read(lib, hipdyn.ReadSystem(os.DirFS("/")), c.Emulate == "")
	if err := closeLibrary(); err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(s.out, r)
	}
	return r.print(s.out)
}

// library is a HIP runtime, or why there is none.
type library struct {
	*hipdyn.Library
	err error
}

// openHIP opens the machine's runtime, or an emulator.
func (f *hipFlags) openHIP() (library, func() error, error) {
	if f.Emulate == "" {
		lib, err := hipdyn.Open()
		if err != nil {
			return library{nil, err}, func() error { return nil }, nil
		}
		return library{lib, nil}, lib.Close, nil
	}
	config, err := hipemu.Parse(f.Emulate, func(text string) (int64, error) {
		size, err := units.ParseSize(text)
		return int64(size), err
	})
	if err != nil {
		return library{}, nil, usagef("--emulate %s: %v", f.Emulate, err)
	}
	emulator, err := hipemu.New(config)
	if err != nil {
		return library{}, nil, err
	}
	lib, err := hipdyn.OpenSource(emulator.Source())
	if err != nil {
		return library{}, nil, errors.Join(err, emulator.Close())
	}
	return library{lib, nil}, func() error { return errors.Join(lib.Close(), emulator.Close()) }, nil
}

// read fills in the report. real is false for an emulator, which the system
// does not know.
func (r *devicesReport) read(lib library, system hipdyn.System, real bool) {
	for _, name := range []string{"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"} {
		if value, set := os.LookupEnv(name); set {
			r.Hiding = append(r.Hiding, name+"="+value)
		}
	}
	if real {
		r.Nodes, r.Cards = system.Nodes, system.Cards
	}
	var missing *hipdyn.NotLoaded
	switch {
	case errors.As(lib.err, &missing):
		r.Why = append(r.Why, "no HIP runtime (libamdhip64) could be loaded")
		for _, e := range missing.Tried {
			r.Tried = append(r.Tried, e.Error())
		}
	case lib.err != nil:
		r.Why = append(r.Why, lib.err.Error())
	}
	if lib.Library != nil {
		r.Library, r.Runtime, r.Driver = lib.Source, lib.Runtime.String(), lib.Driver.String()
		devices, err := lib.Devices()
		if err != nil {
			r.Why = append(r.Why, "HIP finds no device: "+err.Error())
		}
		for _, d := range devices {
			r.Devices = append(r.Devices, describeDevice(d, system, real))
		}
	}
	if len(r.Devices) > 0 || !real {
		return
	}
	if system.Driver != nil {
		r.Why = append(r.Why, system.Driver.Error())
	}
	for _, n := range system.Nodes {
		r.Why = append(r.Why, fmt.Sprintf("the driver has a GPU at %s: %s, %s", n.PCI, n.GFX, haveKernels(n.GFX)))
	}
}

func describeDevice(d *hipdyn.Device, system hipdyn.System, real bool) deviceReport {
	r := deviceReport{Info: d.Info, Kernels: slices.Contains(kernels.Targets(), d.GFX)}
	free, _, err := d.Memory()
	if err != nil {
		r.Error = err.Error()
	}
	r.FreeMemory = free
	if card, ok := system.Card(d.PCI); ok && real {
		r.Card = &card
	}
	return r
}

func haveKernels(gfx string) string {
	if slices.Contains(kernels.Targets(), gfx) {
		return "for which gorun has kernels"
	}
	return fmt.Sprintf("for which gorun has no kernels (it has them for %v)", kernels.Targets())
}

// print writes the report for people.
func (r *devicesReport) print(out io.Writer) error {
	if r.Library != "" {
		fmt.Fprintf(out, "HIP %s (driver %s) from %s\n", r.Runtime, r.Driver, r.Library)
	}
	for _, h := range r.Hiding {
		fmt.Fprintf(out, "%s decides which devices HIP shows\n", h)
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, d := range r.Devices {
		if d.Index == 0 {
			fmt.Fprintln(t, "\ndevice\tname\tgfx\tPCI\tmemory\tfree\tkernels")
		}
		has := "yes"
		if !d.Kernels {
			has = "none for " + d.GFX
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%v\t%v\t%s\n", d.Index, d.Name, d.GFX, d.PCI, units.Size(d.TotalMemory), units.Size(d.FreeMemory), has)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, d := range r.Devices {
		if d.Error != "" {
			fmt.Fprintf(out, "device %d: %s\n", d.Index, d.Error)
		}
		if d.Integrated && d.Card != nil {
			c := d.Card
			fmt.Fprintf(out, "device %d shares the host's memory. The driver counts %v of %v of its own in use, and %v of %v of the host's.\n", d.Index,
				units.Size(c.VRAMUsed), units.Size(c.VRAMTotal), units.Size(c.GTTUsed), units.Size(c.GTTTotal))
		}
	}
	if len(r.Devices) > 0 {
		return nil
	}
	fmt.Fprintln(out, "No GPU that gorun could use; models run on the CPU.")
	for _, why := range r.Why {
		fmt.Fprintf(out, "- %s\n", why)
	}
	if len(r.Tried) > 0 {
		fmt.Fprintf(out, "\n%d places were tried:\n", len(r.Tried))
	}
	for _, tried := range r.Tried {
		fmt.Fprintf(out, "  %s\n", tried)
	}
	return nil
}
