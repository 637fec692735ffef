package abi

import "fmt"

// Status is a hipblasStatus_t.
type Status int32

var statusNames = [...]string{
	"HIPBLAS_STATUS_SUCCESS", "HIPBLAS_STATUS_NOT_INITIALIZED", "HIPBLAS_STATUS_ALLOC_FAILED",
	"HIPBLAS_STATUS_INVALID_VALUE", "HIPBLAS_STATUS_MAPPING_ERROR", "HIPBLAS_STATUS_EXECUTION_FAILED",
	"HIPBLAS_STATUS_INTERNAL_ERROR", "HIPBLAS_STATUS_NOT_SUPPORTED", "HIPBLAS_STATUS_ARCH_MISMATCH",
	"HIPBLAS_STATUS_HANDLE_IS_NULLPTR", "HIPBLAS_STATUS_INVALID_ENUM", "HIPBLAS_STATUS_UNKNOWN",
}

// The statuses that the emulator gives.
const (
	StatusSuccess      Status = 0
	StatusInvalidValue Status = 3
	StatusFailed       Status = 5
	StatusNotSupported Status = 7
	StatusInvalidEnum  Status = 10
)

// Name is the name in hipblas.h.
func (s Status) Name() string {
	if s >= 0 && int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("hipblasStatus_t(%d)", int32(s))
}

func (s Status) Error() string { return fmt.Sprintf("%s (%d)", s.Name(), int32(s)) }

// hipBLAS: transposition and algorithm.
const (
	BLASPlain      = 111
	BLASTransposed = 112
	BLASDefault    = 160
)

// BLASTypes are the numbers that hipblasGemmEx takes for element types and for
// the type it computes in. ROCm 5 took hipblasDatatype_t for both; later ones
// take hipDataType and hipblasComputeType_t. The number of arguments is the
// same, so that a mistake shows in results only.
type BLASTypes struct {
	F16, BF16, F32 int32
	Compute        int32 // in float32
}

// The two generations.
var (
	BLASTypesV1 = BLASTypes{F16: 150, BF16: 168, F32: 151, Compute: 151}
	BLASTypesV2 = BLASTypes{F16: 2, BF16: 14, F32: 0, Compute: 2}
)
