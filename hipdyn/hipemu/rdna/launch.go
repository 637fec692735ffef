package rdna

import (
	"context"
	"errors"
	"fmt"
)

// LaunchConfig says what to launch.
type LaunchConfig struct {
	Grid       [3]uint32 // work-groups
	Block      [3]uint32 // work-items of a work-group
	DynamicLDS uint32    // bytes beyond the kernel's own
	Ignore     Check     // checks that are left out
	Poison     uint32    // what registers hold at first; zero means a NaN
	Workers    int       // work-groups that run at once; zero means one for each core
}

// Check is a set of checks.
type Check uint8

// Checks that a launch makes unless told otherwise.
const (
	UndefinedMemory Check = 1 << iota // global memory read before it was written
	UndefinedLDS                      // LDS read before it was written
	RaceLDS                           // LDS used by two waves without a barrier between
)

// Counters say what a launch cost.
type Counters struct {
	Workgroups, Waves uint64
	Instructions      uint64 // of waves
	VALU              uint64 // vector arithmetic, and of these:
	Trans             uint64 // transcendental
	WMMA              uint64 // matrix products
	SALU              uint64
	SMEM              uint64
	VMEM              uint64 // global, flat, buffer
	Scratch           uint64
	DS                uint64 // LDS and lane permutes
	Branch            uint64
	Barrier           uint64
	Other             uint64 // waits, hints
	LaneOps           uint64 // lanes that were active, over all vector instructions

	GlobalReadBytes, GlobalWriteBytes uint64
	GlobalSegments                    uint64 // 128-byte segments touched, over all instructions
	Atomics                           uint64 // lanes
	LDSConflicts                      uint64 // cycles lost to bank conflicts
	VGPRs                             int    // of a wave
	LDSBytes                          int    // of a work-group
}

// Fault is an error of a kernel while it runs.
type Fault struct {
	Kernel string
	PC     uint64 // address within the image
	Inst   string // disassembly
	Group  [3]uint32
	Wave   int
	Lane   int // -1 if it is not about one lane
	Err    error
}

func (f *Fault) Error() string {
	s := fmt.Sprintf("kernel %s at pc 0x%x [%s], work-group %d,%d,%d wave %d", f.Kernel, f.PC, f.Inst, f.Group[0], f.Group[1], f.Group[2], f.Wave)
	if f.Lane >= 0 {
		s += fmt.Sprintf(" lane %d", f.Lane)
	}
	return s + ": " + f.Err.Error()
}

func (f *Fault) Unwrap() error { return f.Err }

// Launch runs a kernel to its end. The arguments are laid out as the metadata
// says; memory from there to a multiple of 64 bytes may be read, too. Launch
// returns a *Fault if the kernel did something wrong; memory then holds what
// had been written by then.
func (k *Kernel) Launch(ctx context.Context, cfg LaunchConfig, kernarg []byte, mem *Memory) (Counters, error) {
	return Counters{}, errors.New("rdna: launch is not implemented yet")
}
