package hipemu

import (
	"errors"
	"reflect"
	"sync"
	"sync/atomic"

	"gorun/hipdyn/abi"
)

// functions are the C functions, by name: methods with the C prototype.
var functions = map[string]any{
	"hipInit":                     (*Emulator).hipInit,
	"hipGetDeviceCount":           (*Emulator).hipGetDeviceCount,
	"hipRuntimeGetVersion":        (*Emulator).hipRuntimeGetVersion,
	"hipDriverGetVersion":         (*Emulator).hipRuntimeGetVersion,
	"hipGetErrorString":           (*Emulator).hipGetErrorString,
	"hipSetDevice":                (*Emulator).hipSetDevice,
	"hipDeviceSynchronize":        (*Emulator).hipDeviceSynchronize,
	"hipDeviceGetAttribute":       (*Emulator).hipDeviceGetAttribute,
	"hipDeviceGetName":            (*Emulator).hipDeviceGetName,
	"hipDeviceGetPCIBusId":        (*Emulator).hipDeviceGetPCIBusId,
	"hipGetDeviceProperties":      (*Emulator).hipGetDevicePropertiesR0000,
	"hipGetDevicePropertiesR0000": (*Emulator).hipGetDevicePropertiesR0000,
	"hipGetDevicePropertiesR0600": (*Emulator).hipGetDevicePropertiesR0600,
	"hipMemGetInfo":               (*Emulator).hipMemGetInfo,
	"hipMalloc":                   (*Emulator).hipMalloc,
	"hipFree":                     (*Emulator).hipFree,
	"hipHostMalloc":               (*Emulator).hipHostMalloc,
	"hipHostFree":                 (*Emulator).hipHostFree,
	"hipHostRegister":             (*Emulator).hipHostRegister,
	"hipHostUnregister":           (*Emulator).hipHostUnregister,
	"hipMemcpyAsync":              (*Emulator).hipMemcpyAsync,
	"hipMemcpyPeerAsync":          (*Emulator).hipMemcpyPeerAsync,
	"hipMemsetAsync":              (*Emulator).hipMemsetAsync,
	"hipDeviceCanAccessPeer":      (*Emulator).hipDeviceCanAccessPeer,
	"hipDeviceEnablePeerAccess":   (*Emulator).hipDeviceEnablePeerAccess,
	"hipStreamCreateWithFlags":    (*Emulator).hipStreamCreateWithFlags,
	"hipStreamDestroy":            (*Emulator).hipStreamDestroy,
	"hipStreamSynchronize":        (*Emulator).hipStreamSynchronize,
	"hipStreamQuery":              (*Emulator).hipStreamQuery,
	"hipStreamWaitEvent":          (*Emulator).hipStreamWaitEvent,
	"hipEventCreateWithFlags":     (*Emulator).hipEventCreateWithFlags,
	"hipEventDestroy":             (*Emulator).hipEventDestroy,
	"hipEventRecord":              (*Emulator).hipEventRecord,
	"hipEventSynchronize":         (*Emulator).hipEventSynchronize,
	"hipEventQuery":               (*Emulator).hipEventQuery,
	"hipEventElapsedTime":         (*Emulator).hipEventElapsedTime,
	"hipModuleLoadData":           (*Emulator).hipModuleLoadData,
	"hipModuleUnload":             (*Emulator).hipModuleUnload,
	"hipModuleGetFunction":        (*Emulator).hipModuleGetFunction,
	"hipModuleLaunchKernel":       (*Emulator).hipModuleLaunchKernel,
	"hipMemAddressReserve":        (*Emulator).hipMemAddressReserve,
	"hipMemAddressFree":           (*Emulator).hipMemAddressFree,
	"hipMemCreate":                (*Emulator).hipMemCreate,
	"hipMemRelease":               (*Emulator).hipMemRelease,
	"hipMemMap":                   (*Emulator).hipMemMap,
	"hipMemUnmap":                 (*Emulator).hipMemUnmap,
	"hipMemSetAccess":             (*Emulator).hipMemSetAccess,
	"hipblasCreate":               (*Emulator).hipblasCreate,
	"hipblasDestroy":              (*Emulator).hipblasDestroy,
	"hipblasSetStream":            (*Emulator).hipblasSetStream,
	"hipblasGemmEx":               (*Emulator).hipblasGemmEx,
	"hipblasGemmEx_v2":            (*Emulator).hipblasGemmEx_v2,
}

// deviceless are the calls that do not fail because a device has.
var deviceless = map[string]bool{
	"hipInit": true, "hipGetDeviceCount": true, "hipRuntimeGetVersion": true, "hipDriverGetVersion": true, "hipSetDevice": true,
	"hipDeviceGetAttribute": true, "hipDeviceGetName": true, "hipDeviceGetPCIBusId": true,
	"hipGetDeviceProperties": true, "hipGetDevicePropertiesR0000": true, "hipGetDevicePropertiesR0600": true,
}

// slot is a set of C function pointers. They can be made a limited number of
// times in a process, and never be freed, so emulators take turns.
type slot struct {
	emulator atomic.Pointer[Emulator]
	address  map[string]uintptr
}

// maxSlots is how many emulators there can be at once.
const maxSlots = 24

var slots struct {
	sync.Mutex
	all  []*slot
	free []*slot
}

// takeSlot gives an emulator its C functions.
func takeSlot(e *Emulator) (*slot, error) {
	slots.Lock()
	defer slots.Unlock()
	if len(slots.free) == 0 {
		if len(slots.all) == maxSlots {
			return nil, errors.New("hipemu: too many emulators at once")
		}
		s := &slot{address: map[string]uintptr{}}
		for name, method := range functions {
			address, err := newCallback(s.bind(name, method))
			if err != nil {
				return nil, err
			}
			s.address[name] = address
		}
		slots.all = append(slots.all, s)
		slots.free = append(slots.free, s)
	}
	s := slots.free[len(slots.free)-1]
	slots.free = slots.free[:len(slots.free)-1]
	s.emulator.Store(e)
	return s, nil
}

func (s *slot) release() {
	s.emulator.Store(nil)
	slots.Lock()
	defer slots.Unlock()
	slots.free = append(slots.free, s)
}

// bind makes a function with the C prototype of a method, which calls the
// method of the emulator that has the slot.
func (s *slot) bind(name string, method any) any {
	m := reflect.ValueOf(method)
	var in []reflect.Type
	for i := 1; i < m.Type().NumIn(); i++ {
		in = append(in, m.Type().In(i))
	}
	result := m.Type().Out(0)
	t := reflect.FuncOf(in, []reflect.Type{result}, false)
	return reflect.MakeFunc(t, func(args []reflect.Value) []reflect.Value {
		e, code := s.emulator.Load(), abi.ContextIsDestroyed
		if e != nil {
			code = e.enter(name)
		}
		switch {
		case code == abi.Success:
		case result.Kind() == reflect.Uintptr: // a string: none
			return []reflect.Value{reflect.Zero(result)}
		default:
			return []reflect.Value{reflect.ValueOf(code).Convert(result)}
		}
		return m.Call(append([]reflect.Value{reflect.ValueOf(e)}, args...))
	}).Interface()
}

// enter begins a call: it fails if that has been injected, or if the device has
// failed.
func (e *Emulator) enter(name string) abi.Code {
	e.mu.Lock()
	defer e.mu.Unlock()
	if code, ok := e.failing(name, false); ok {
		return code
	}
	if len(e.devices) == 0 || deviceless[name] || name == "hipGetErrorString" {
		return abi.Success
	}
	return e.here().code()
}
