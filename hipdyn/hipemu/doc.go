// Package hipemu is a HIP runtime without a GPU: the C functions that hipdyn
// calls, made in Go, with kernels executed by package rdna. hipdyn does not
// know the difference, so that what is tested with it is the code that runs on
// hardware, down to the C calling convention.
//
//	hipdyn -> C function pointer -> Emulator -> stream -> rdna.Kernel.Launch
//
// It is stricter than hardware, on purpose:
//
//   - Work on streams is asynchronous and, unless told otherwise, as late as it
//     may be: it runs when something waits for it. A program that reads too
//     early always sees old bytes.
//   - Two streams that touch the same bytes without an event between them, one
//     of them writing, are an error, whatever the order they ran in.
//   - Addresses are never used twice and have gaps between them; fresh memory
//     is poison. See package rdna.
//   - A handle that is not one (where HIP may crash), a free of what is in no
//     allocation, a copy in the wrong direction are errors that Close reports,
//     as is everything that was not freed.
//   - Devices reach each other's memory only if they are of one generation, and
//     after both have asked.
//
// Errors of work that runs later are sticky, as in HIP: every later call on the
// device returns them. hipGetErrorString tells what happened.
//
// It is not a model of time, and does not emulate the null stream, managed
// memory, graphs, and other things that gorun does not use.
package hipemu
