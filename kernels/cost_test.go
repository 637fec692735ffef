package kernels

import (
	"math/rand/v2"
	"testing"

	"gorun/hipdyn"
	"gorun/hipdyn/hipemu"
	"gorun/tensor"
)

// What a kernel may cost in the emulator, on any target. The bounds are a little
// above what it costs today: a change of a source that makes a kernel touch
// memory in smaller pieces, or its LDS in conflict, is seen.
//
//	go test ./kernels -run Cost -v
func TestCost(t *testing.T) {
	if hipdyn.Supported != nil {
		t.Skip(hipdyn.Supported)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		kernel       string
		test         *testCase
		instructions uint64  // of waves, in thousands
		spread       float64 // segments of 128 bytes touched, over bytes moved / 128
		conflicts    float64 // cycles lost to LDS bank conflicts, for each LDS instruction
		vgprs        int
	}{
		{"matvec_q8_0", matVecCase(r, tensor.Q8_0, 16, 2048), 6, 1.7, 0, 32},
		{"matvec_q4_K", matVecCase(r, tensor.Q4_K, 16, 2048), 16, 1.5, 0, 32},
		{"rms_norm", rmsNormCase(r, 4, 2048), 13, 1.01, 0, 16},
		{"softmax", softmaxCase(r, 4, 2048), 26, 1.01, 0, 16},
		{"gemm_f16", gemmCase(r, 64, 64, 256), 27, 1.25, 0, 120},
	} {
		for _, gfx := range Targets() {
			e, err := hipemu.New(hipemu.Config{GPUs: []hipemu.GPU{{GFX: gfx}}})
			if err != nil {
				t.Fatal(err)
			}
			lib, err := hipdyn.OpenSource(e.Source())
			if err != nil {
				t.Fatal(err)
			}
			d, err := lib.Device("0")
			if err != nil {
				t.Fatal(err)
			}
			if err := runCase(d, c.test); err != nil {
				t.Errorf("%s: %v", gfx, err)
			}
			n := e.Counters(c.kernel)
			if err := lib.Close(); err != nil {
				t.Error(err)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			spread := float64(n.GlobalSegments) * 128 / float64(n.GlobalReadBytes+n.GlobalWriteBytes)
			conflicts := 0.0
			if n.DS > 0 {
				conflicts = float64(n.LDSConflicts) / float64(n.DS)
			}
			t.Logf("%-12s %s: %6d instructions (VALU %d, SALU %d, WMMA %d, VMEM %d, SMEM %d, DS %d), segments %.2f of the least, %.2f conflicts an LDS instruction, %d VGPRs, %d bytes of LDS",
				c.kernel, gfx, n.Instructions, n.VALU, n.SALU, n.WMMA, n.VMEM, n.SMEM, n.DS, spread, conflicts, n.VGPRs, n.LDSBytes)
			if n.Instructions == 0 || n.Instructions > 1000*c.instructions || spread > c.spread || conflicts > c.conflicts || n.VGPRs > c.vgprs {
				t.Errorf("%s costs more on %s than %+v", c.kernel, gfx, c)
			}
		}
	}
}

// runCase runs a case on a device.
func runCase(d *hipdyn.Device, c *testCase) (err error) {
	s, err := Load(d)
	if err != nil {
		return err
	}
	stream, err := d.NewStream()
	if err != nil {
		return err
	}
	if _, err := c.run(s, stream); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	return stream.Close()
}
