package cpu

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"gorun/tensor/attn"
	"gorun/tensor/gemm"
)

// KernelVariable is the environment variable that forces a kernel set.
const KernelVariable = "GORUN_CPU"

// Kernels names the kernel set that this process computes with. It is chosen
// once: the best that the CPU can execute and that passes its self-test, or
// the one that KernelVariable asks for. All sets give the same bits.
var Kernels = sync.OnceValues(func() (string, error) {
	name, err := chooseKernels(os.Getenv(KernelVariable), gemm.SelfTest)
	if err == nil {
		err = gemm.Select(name)
	}
	if err == nil {
		err = attn.Select(name)
	}
	if err != nil {
		return "", fmt.Errorf("cpu: %w", err)
	}
	return name, nil
})

// KernelSets lists what this CPU can execute, the best first.
func KernelSets() []string {
	var names []string
	for _, s := range gemm.Sets() {
		if slices.ContainsFunc(attn.Sets(), func(a *attn.Set) bool { return a.Name() == s.Name() }) {
			names = append(names, s.Name())
		}
	}
	return names
}

// SelfTest computes known answers with the named kernel set.
func SelfTest(name string) error {
	for _, s := range gemm.Sets() {
		if s.Name() == name {
			return gemm.SelfTest(s)
		}
	}
	return fmt.Errorf("no kernel set %q on this CPU; there are %s", name, strings.Join(KernelSets(), ", "))
}

// chooseKernels picks a set. One that was asked for must pass; otherwise a set
// that fails is passed over, with a line in the log.
func chooseKernels(asked string, test func(*gemm.Set) error) (string, error) {
	names := KernelSets()
	if asked != "" && !slices.Contains(names, asked) {
		return "", fmt.Errorf("%s is %q, this CPU has %s", KernelVariable, asked, strings.Join(names, ", "))
	}
	for _, s := range gemm.Sets() {
		if !slices.Contains(names, s.Name()) || asked != "" && s.Name() != asked {
			continue
		}
		err := test(s)
		if err == nil {
			return s.Name(), nil
		}
		if asked != "" {
			return "", err
		}
		slog.Warn("a kernel set fails its self-test and is not used: computing will be slower", "set", s.Name(), "error", err)
	}
	return "", fmt.Errorf("every kernel set fails its self-test: %s", strings.Join(names, ", "))
}
