//go:build race

package rdna

import "sync"

// Kernels synchronize work-groups by loads, stores and atomic operations that
// the hardware keeps whole, as does the machine that this runs on. The race
// detector does not know that, so under it accesses take turns.
var turns sync.Mutex

func takeTurn()  { turns.Lock() }
func leaveTurn() { turns.Unlock() }

const raceEnabled = true
