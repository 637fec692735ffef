// Package hipdyn binds AMD's HIP runtime (libamdhip64) and hipBLAS without
// cgo: the libraries are loaded when asked for, and a machine without them
// gets an error that lists what was tried.
//
// # Layers
//
//	Device, Stream, Event, Buffer, ...   safe: lifetimes, bounds, owner threads
//	*Error                               results: call, code, name, device
//	hipFunctions, blasFunctions          raw: addresses, C prototypes
//	Resolver                             name -> address: dlsym, or an emulator
//
// Whoever passes another Resolver to OpenSource runs the same code on another
// implementation: package hipemu has one that needs no GPU.
//
// # Threads
//
// HIP keeps the current device for each thread. Each Device therefore has one
// owner: a goroutine locked to its thread, which sets the device once and then
// makes all calls. Methods may be called from any goroutine and hand their
// call over; that costs two changes of threads, far more than the call, so a
// caller with many calls wraps them in Device.Do, within which they are made
// directly. Calls fail with ErrClosed once the library has been closed.
//
// # Memory
//
//   - Work on a stream is asynchronous, and streams run beside each other:
//     order between two streams comes from events only.
//   - Asynchronous copies take device memory (Buffer) and page-locked host
//     memory (Pinned) only. Neither is on the Go heap, and freeing either
//     waits for the device.
//   - Go slices are copied within a call: Stream.Write has taken the bytes when
//     it returns, and Stream.Read has delivered them.
//   - Pointers into the Go heap reach C for the time of one call.
//   - Code objects are copied outside the Go heap until Module.Unload, since
//     some releases read them later than in hipModuleLoadData.
package hipdyn
