package hipdyn

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"gorun/hipdyn/abi"
)

// Library is a HIP runtime.
type Library struct {
	Source  string      // path of the library, or the emulator's name
	Runtime abi.Version // 0 if it does not tell
	Driver  abi.Version

	hip     *hipFunctions
	devices []*Device
	none    error // why there are no devices

	blas       func() (*blasLibrary, error)
	mu         sync.Mutex
	directPeer map[[2]int]bool // devices between which access has been enabled
}

// Open loads the machine's runtime. Its error is a *NotLoaded if there is none.
// A runtime without devices is no error: see Devices.
func Open() (*Library, error) {
	s, err := system()
	if err != nil {
		return nil, err
	}
	return OpenSource(s)
}

// OpenSource opens an implementation of HIP.
func OpenSource(s Source) (*Library, error) {
	if Supported != nil {
		return nil, Supported
	}
	hip, err := resolve[hipFunctions](s.HIP)
	if err != nil {
		return nil, fmt.Errorf("%s lacks functions: %w", s.Name, err)
	}
	l := &Library{Source: s.Name, hip: hip, directPeer: map[[2]int]bool{}}
	l.blas = sync.OnceValues(func() (*blasLibrary, error) { return loadBLAS(s, l.Runtime.Major()) })
	// A runtime tells its version without a device, too.
	hip.hipRuntimeGetVersion.call(uintptr(unsafe.Pointer(&l.Runtime)))
	hip.hipDriverGetVersion.call(uintptr(unsafe.Pointer(&l.Driver)))
	if l.devices, err = l.find(); err != nil {
		l.none = err
	}
	return l, nil
}

// find lists the devices. HIP itself leaves out those that HIP_VISIBLE_DEVICES
// and ROCR_VISIBLE_DEVICES hide, and numbers the rest.
func (l *Library) find() ([]*Device, error) {
	if err := l.hip.check(l.hip.hipInit.call(0), "hipInit", noDevice); err != nil {
		return nil, err
	}
	var n int32
	if err := l.hip.check(l.hip.hipGetDeviceCount.call(uintptr(unsafe.Pointer(&n))), "hipGetDeviceCount", noDevice); err != nil {
		return nil, err
	}
	var devices []*Device
	for i := range int(n) {
		d, err := l.newDevice(i)
		if err != nil {
			return nil, errors.Join(err, closeDevices(devices))
		}
		devices = append(devices, d)
	}
	if len(devices) == 0 {
		return nil, &Error{"hipGetDeviceCount", abi.NoDevice, "it counts none", noDevice}
	}
	return devices, nil
}

// Devices lists the devices in HIP's order. If there is none, the error says
// why.
func (l *Library) Devices() ([]*Device, error) { return l.devices, l.none }

// Close ends the devices' threads. What was not freed stays with the runtime
// until the process ends.
func (l *Library) Close() error { return closeDevices(l.devices) }

func closeDevices(devices []*Device) error {
	for _, d := range devices {
		d.owner.close()
	}
	return nil
}
