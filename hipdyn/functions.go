package hipdyn

import (
	"errors"
	"fmt"
	"reflect"

	"gorun/hipdyn/abi"
)

// Resolver finds the address of a C function, or says why there is none.
type Resolver func(name string) (uintptr, error)

// proc is the address of a C function that returns a hipError_t or a
// hipblasStatus_t; zero where the library has none.
type proc uintptr

// hipFunctions is the raw layer: every entry point of libamdhip64 that gorun
// calls, under its C name, with its prototype. All have existed since ROCm 5.2
// but for those with a tag that says since when.
type hipFunctions struct {
	// hipError_t hipInit(unsigned flags)
	hipInit proc
	// hipError_t hipGetDeviceCount(int* count)
	hipGetDeviceCount proc
	// hipError_t hipRuntimeGetVersion(int* version)
	hipRuntimeGetVersion proc
	// hipError_t hipDriverGetVersion(int* version)
	hipDriverGetVersion proc
	// const char* hipGetErrorString(hipError_t error)
	hipGetErrorString proc

	// hipError_t hipSetDevice(int device)
	hipSetDevice proc
	// hipError_t hipDeviceSynchronize(void)
	hipDeviceSynchronize proc
	// hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device)
	hipDeviceGetAttribute proc
	// hipError_t hipDeviceGetName(char* name, int size, hipDevice_t device)
	hipDeviceGetName proc
	// hipError_t hipDeviceGetPCIBusId(char* id, int size, int device)
	hipDeviceGetPCIBusId proc
	// hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device)
	hipGetDeviceProperties proc
	// hipError_t hipGetDevicePropertiesR0000(hipDeviceProp_tR0000* properties, int device)
	hipGetDevicePropertiesR0000 proc `since:"6.0"`
	// hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* properties, int device)
	hipGetDevicePropertiesR0600 proc `since:"6.0"`
	// hipError_t hipMemGetInfo(size_t* free, size_t* total)
	hipMemGetInfo proc

	// hipError_t hipMalloc(void** pointer, size_t size)
	hipMalloc proc
	// hipError_t hipFree(void* pointer)
	hipFree proc
	// hipError_t hipHostMalloc(void** pointer, size_t size, unsigned flags)
	hipHostMalloc proc
	// hipError_t hipHostFree(void* pointer)
	hipHostFree proc
	// hipError_t hipHostRegister(void* pointer, size_t size, unsigned flags)
	hipHostRegister proc
	// hipError_t hipHostUnregister(void* pointer)
	hipHostUnregister proc
	// hipError_t hipMemcpyAsync(void* to, const void* from, size_t size, hipMemcpyKind kind, hipStream_t stream)
	hipMemcpyAsync proc
	// hipError_t hipMemcpyPeerAsync(void* to, int toDevice, const void* from, int fromDevice, size_t size, hipStream_t stream)
	hipMemcpyPeerAsync proc
	// hipError_t hipMemsetAsync(void* pointer, int value, size_t size, hipStream_t stream)
	hipMemsetAsync proc

	// hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer)
	hipDeviceCanAccessPeer proc
	// hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags)
	hipDeviceEnablePeerAccess proc

	// hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags)
	hipStreamCreateWithFlags proc
	// hipError_t hipStreamDestroy(hipStream_t stream)
	hipStreamDestroy proc
	// hipError_t hipStreamSynchronize(hipStream_t stream)
	hipStreamSynchronize proc
	// hipError_t hipStreamQuery(hipStream_t stream)
	hipStreamQuery proc
	// hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags)
	hipStreamWaitEvent proc
	// hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags)
	hipEventCreateWithFlags proc
	// hipError_t hipEventDestroy(hipEvent_t event)
	hipEventDestroy proc
	// hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
	hipEventRecord proc
	// hipError_t hipEventSynchronize(hipEvent_t event)
	hipEventSynchronize proc
	// hipError_t hipEventQuery(hipEvent_t event)
	hipEventQuery proc
	// hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop)
	hipEventElapsedTime proc

	// hipError_t hipModuleLoadData(hipModule_t* module, const void* image)
	hipModuleLoadData proc
	// hipError_t hipModuleUnload(hipModule_t module)
	hipModuleUnload proc
	// hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name)
	hipModuleGetFunction proc
	// hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned gridX, unsigned gridY, unsigned gridZ,
	//	unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes, hipStream_t stream,
	//	void** parameters, void** extra)
	//
	// The grid is in blocks. Either parameters or extra is given.
	hipModuleLaunchKernel proc

	// hipError_t hipMemAddressReserve(void** pointer, size_t size, size_t align, void* address, unsigned long long flags)
	hipMemAddressReserve proc
	// hipError_t hipMemAddressFree(void* pointer, size_t size)
	hipMemAddressFree proc
	// hipError_t hipMemCreate(hipMemGenericAllocationHandle_t* handle, size_t size, const hipMemAllocationProp* properties, unsigned long long flags)
	hipMemCreate proc
	// hipError_t hipMemRelease(hipMemGenericAllocationHandle_t handle)
	hipMemRelease proc
	// hipError_t hipMemMap(void* pointer, size_t size, size_t offset, hipMemGenericAllocationHandle_t handle, unsigned long long flags)
	hipMemMap proc
	// hipError_t hipMemUnmap(void* pointer, size_t size)
	hipMemUnmap proc
	// hipError_t hipMemSetAccess(void* pointer, size_t size, const hipMemAccessDesc* access, size_t count)
	hipMemSetAccess proc
}

// blasFunctions are the entry points of libhipblas that gorun calls.
type blasFunctions struct {
	// hipblasStatus_t hipblasCreate(hipblasHandle_t* handle)
	hipblasCreate proc
	// hipblasStatus_t hipblasDestroy(hipblasHandle_t handle)
	hipblasDestroy proc
	// hipblasStatus_t hipblasSetStream(hipblasHandle_t handle, hipStream_t stream)
	hipblasSetStream proc
	// hipblasStatus_t hipblasGemmEx(hipblasHandle_t handle, hipblasOperation_t transA, hipblasOperation_t transB,
	//	int m, int n, int k, const void* alpha, const void* A, aType, int lda, const void* B, bType, int ldb,
	//	const void* beta, void* C, cType, int ldc, computeType, hipblasGemmAlgo_t algorithm)
	//
	// The types are hipblasDatatype_t up to ROCm 6, and hipDataType and
	// hipblasComputeType_t from ROCm 7 on.
	hipblasGemmEx proc
	// hipblasGemmEx with the new types, beside the old one in ROCm 6.
	hipblasGemmEx_v2 proc `since:"6.0, until 7.0"`
}

// Symbol is a C function that gorun binds.
type Symbol struct {
	Name  string
	Since string // release that has it; empty: all from 5.2 on
}

// Symbols lists the functions of libamdhip64 and of libhipblas that gorun binds.
func Symbols() (hip, blas []Symbol) {
	return symbols(reflect.TypeFor[hipFunctions]()), symbols(reflect.TypeFor[blasFunctions]())
}

func symbols(t reflect.Type) []Symbol {
	var list []Symbol
	for i := range t.NumField() {
		list = append(list, Symbol{t.Field(i).Name, t.Field(i).Tag.Get("since")})
	}
	return list
}

// resolve fills a struct of procs. What is missing and not optional is an error.
func resolve[T any](r Resolver) (*T, error) {
	f := new(T)
	v := reflect.ValueOf(f).Elem()
	var missing []error
	for i, s := range symbols(v.Type()) {
		address, err := r(s.Name)
		if err == nil && address == 0 {
			err = errors.New("the address is null")
		}
		if err != nil {
			if s.Since == "" {
				missing = append(missing, fmt.Errorf("%s: %w", s.Name, err))
			}
			continue
		}
		*(*proc)(v.Field(i).Addr().UnsafePointer()) = proc(address)
	}
	return f, errors.Join(missing...)
}

// call calls a function that returns a hipError_t. Pointers among the
// arguments are converted in the argument list: then they stay valid until the
// call returns.
//
//go:uintptrescapes
func (p proc) call(args ...uintptr) abi.Code { return abi.Code(int32(callC(uintptr(p), args...))) }
