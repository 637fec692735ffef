package spin

import "syscall"

// Yield lets another thread that waits for this core have it. It returns at once if there
// is none.
func Yield() { syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }
