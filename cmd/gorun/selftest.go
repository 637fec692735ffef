package main

import (
	"errors"
	"fmt"

	"gorun/compute/cpu"
)

type selftestCommand struct {
	hipFlags
	JSON bool `name:"json" help:"Print JSON."`
}

func (selftestCommand) Help() string {
	return "Computes known answers with every kernel set that this CPU can execute, and with the kernels of every GPU. GORUN_CPU forces the set that models run with.\n\nExamples:\n  gorun selftest\n  gorun selftest --emulate gfx1201"
}

// selftestReport is what became of one kernel set.
type selftestReport struct {
	Kernels string `json:"kernels"`
	Used    bool   `json:"used"` // by models in this process
	Error   string `json:"error,omitempty"`
}

func (c *selftestCommand) Run(s *streams) error {
	used, err := cpu.Kernels()
	reports := []selftestReport{}
	for _, name := range cpu.KernelSets() {
		r := selftestReport{Kernels: name, Used: name == used}
		if e := cpu.SelfTest(name); e != nil {
			r.Error = e.Error()
			err = errors.Join(err, e)
		}
		reports = append(reports, r)
	}
	gpus, e := c.testGPUs()
	reports, err = append(reports, gpus...), errors.Join(err, e)
	if c.JSON {
		return errors.Join(writeJSON(s.out, reports), err)
	}
	for _, r := range reports {
		verdict := "ok"
		if r.Error != "" {
			verdict = r.Error
		}
		if r.Used {
			verdict += " (used)"
		}
		fmt.Fprintf(s.out, "%s\t%s\n", r.Kernels, verdict)
	}
	return err
}
