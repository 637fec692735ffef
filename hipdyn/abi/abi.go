// Package abi has the numbers of HIP's C interface: error codes, attributes,
// flags and the layouts of structures, as far as gorun uses them. Enumerations
// are 32 bits wide. The numbers are those of the HIP headers 5.2 to 7; where
// releases differ it is said.
package abi

import "fmt"

// Code is a hipError_t. It is an error, so that errors.Is finds it.
type Code int32

// The codes that gorun or its emulator give a meaning.
const (
	Success                  Code = 0
	InvalidValue             Code = 1
	OutOfMemory              Code = 2
	NotInitialized           Code = 3
	InvalidConfiguration     Code = 9
	InvalidDeviceFunction    Code = 98
	NoDevice                 Code = 100
	InvalidDevice            Code = 101
	InvalidImage             Code = 200
	NoBinaryForGPU           Code = 209
	PeerAccessUnsupported    Code = 217
	InvalidKernelFile        Code = 218
	FileNotFound             Code = 301
	SharedObjectInitFailed   Code = 303
	InvalidHandle            Code = 400
	NotFound                 Code = 500
	NotReady                 Code = 600
	IllegalAddress           Code = 700
	PeerAccessAlreadyEnabled Code = 704
	PeerAccessNotEnabled     Code = 705
	ContextIsDestroyed       Code = 709
	HostMemoryRegistered     Code = 712
	HostMemoryNotRegistered  Code = 713
	LaunchFailure            Code = 719
	NotSupported             Code = 801
	Unknown                  Code = 999
	hipErrorPrefix                = "hipError"
)

var codeNames = map[Code]string{
	InvalidValue: "InvalidValue", OutOfMemory: "OutOfMemory", NotInitialized: "NotInitialized",
	InvalidConfiguration: "InvalidConfiguration", InvalidDeviceFunction: "InvalidDeviceFunction",
	NoDevice: "NoDevice", InvalidDevice: "InvalidDevice", InvalidImage: "InvalidImage",
	NoBinaryForGPU: "NoBinaryForGpu", PeerAccessUnsupported: "PeerAccessUnsupported",
	InvalidKernelFile: "InvalidKernelFile", FileNotFound: "FileNotFound",
	SharedObjectInitFailed: "SharedObjectInitFailed", InvalidHandle: "InvalidHandle", NotFound: "NotFound",
	NotReady: "NotReady", IllegalAddress: "IllegalAddress", PeerAccessAlreadyEnabled: "PeerAccessAlreadyEnabled",
	PeerAccessNotEnabled: "PeerAccessNotEnabled", ContextIsDestroyed: "ContextIsDestroyed",
	HostMemoryRegistered: "HostMemoryAlreadyRegistered", HostMemoryNotRegistered: "HostMemoryNotRegistered",
	LaunchFailure: "LaunchFailure", NotSupported: "NotSupported", Unknown: "Unknown",
}

// Name is the name in the HIP headers.
func (c Code) Name() string {
	if c == Success {
		return "hipSuccess"
	}
	if name, ok := codeNames[c]; ok {
		return hipErrorPrefix + name
	}
	return fmt.Sprintf("hipError_t(%d)", int32(c))
}

func (c Code) Error() string { return fmt.Sprintf("%s (%d)", c.Name(), int32(c)) }

// Attribute is a hipDeviceAttribute_t. The numbers are the same from 5.2 on.
type Attribute int32

// The attributes in use.
const (
	AttributeClockRate           Attribute = 5 // kHz
	AttributeIntegrated          Attribute = 16
	AttributeL2CacheSize         Attribute = 19
	AttributeMaxThreadsPerBlock  Attribute = 56
	AttributeMemoryBusWidth      Attribute = 59 // bits
	AttributeMemoryClockRate     Attribute = 60 // kHz
	AttributeMultiprocessorCount Attribute = 63
	AttributeMaxSharedMemory     Attribute = 74
	AttributeWarpSize            Attribute = 87
	AttributeVirtualMemory       Attribute = 89 // hipMem* calls work
	AttributeLargeBAR            Attribute = 10011
)

// Kinds of copies (hipMemcpyKind).
const (
	CopyHostToHost     = 0
	CopyHostToDevice   = 1
	CopyDeviceToHost   = 2
	CopyDeviceToDevice = 3
)

// Flags.
const (
	StreamNonBlocking    = 1
	EventDisableTiming   = 2
	HostMallocPortable   = 1
	HostRegisterPortable = 1
)

// The keys of the extra array of hipModuleLaunchKernel.
const (
	LaunchBuffer     = 1
	LaunchBufferSize = 2
	LaunchEnd        = 3
)

// Virtual memory.
const (
	AllocationPinned     = 1
	LocationDevice       = 1
	AccessReadWrite      = 3
	GranularityMinimum   = 0
	AllocationPropBytes  = 32
	AccessDescBytes      = 12
	AllocationPropType   = 0  // offset of the type from 6.0 on; 5.x has another order
	AllocationPropKind   = 8  // offset of the location's kind
	AllocationPropDevice = 12 // offset of the location's device
	AccessDescFlags      = 8  // offset; the location is at 0
)

// Properties is a layout of hipDeviceProp_t: the offsets of some of its fields.
type Properties struct {
	Size                      int
	TotalMemory               int // size_t
	Arch                      int // char[256], "gfx1201" or "gfx90a:sramecc+:xnack-"
	Integrated                int // int
	PCIBus, PCIDev, PCIDomain int // int
}

// The two layouts of hipDeviceProp_t. 6.0 changed it and gave the functions
// names with a suffix; hipGetDeviceProperties without one keeps the old layout.
var (
	PropertiesR0000 = Properties{Size: 792, TotalMemory: 256, Arch: 396, Integrated: 652, PCIDomain: 364, PCIBus: 368, PCIDev: 372}
	PropertiesR0600 = Properties{Size: 1472, TotalMemory: 288, Arch: 1160, Integrated: 396, PCIBus: 584, PCIDev: 588, PCIDomain: 592}
)

// Version is a version of the runtime: MAJOR*10000000 + MINOR*100000 + PATCH.
type Version int32

// Major is the release series of ROCm that the runtime is of.
func (v Version) Major() int { return int(v) / 10_000_000 }

func (v Version) String() string {
	return fmt.Sprintf("%d.%d.%d", v.Major(), int(v)/100_000%100, int(v)%100_000)
}
