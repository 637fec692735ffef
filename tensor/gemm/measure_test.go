//go:build linux && amd64 && !purego && !noasm && !race

package gemm

import "golang.org/x/sys/unix"

// peak is a loop of fused multiply-adds on registers.
type peak struct {
	run   func(rounds int)
	flops float64 // of a round
}

var peaks = map[string]peak{
	"avx512":  {avx512Peak, 2 * 16 * 10},
	"avx2":    {avx2Peak, 2 * 8 * 10},
	"generic": {avx2Peak, 2 * 8 * 10},
}

// readAll reads memory as fast as it goes.
func readAll(mem []byte) { avx2ReadAll(mem) }

// processorSeconds is the time that the thread has run.
func processorSeconds() float64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return float64(t.Nano()) / 1e9
}
