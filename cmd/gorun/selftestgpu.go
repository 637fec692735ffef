package main

import (
	"errors"
	"fmt"

	"gorun/hipdyn"
	"gorun/kernels"
)

// testGPUs tests the kernels of all GPUs. A machine without any passes; gorun
// devices tells why there are none.
func (f *hipFlags) testGPUs() (reports []selftestReport, err error) {
	lib, closeLibrary, err := f.openHIP()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeLibrary()) }()
	if lib.Library == nil {
		return nil, nil
	}
	devices, _ := lib.Devices()
	for _, d := range devices {
		reports = append(reports, testGPU(d)...)
	}
	for _, r := range reports {
		if r.Error != "" {
			err = errors.Join(err, fmt.Errorf("%s: %s", r.Kernels, r.Error))
		}
	}
	return reports, err
}

func testGPU(d *hipdyn.Device) []selftestReport {
	name := fmt.Sprintf("device %d (%s)", d.Index, d.GFX)
	results, err := kernels.SelfTest(d)
	if errors.Is(err, kernels.ErrTarget) {
		return nil // nothing runs on it
	}
	var reports []selftestReport
	for _, r := range results {
		report := selftestReport{Kernels: name + " " + r.Kernel}
		if r.Err != nil {
			report.Error = r.Err.Error()
		}
		reports = append(reports, report)
	}
	if err != nil {
		reports = append(reports, selftestReport{Kernels: name, Error: err.Error()})
	}
	return reports
}
