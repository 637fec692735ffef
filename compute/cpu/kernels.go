package cpu

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"gorun/tensor/attn"
	"gorun/tensor/gemm"
	"gorun/tensor/vec"
)

// KernelVariable is the environment variable that forces a kernel set.
const KernelVariable = "GORUN_CPU"

// Kernels names the kernel set that this process computes with. It is chosen
// once: the best that the CPU can execute and that passes its self-test, or
// the one that KernelVariable asks for. All sets give the same bits.
var Kernels = sync.OnceValues(func() (string, error) {
	name, err := chooseKernels(os.Getenv(KernelVariable), SelfTest)
	for _, choose := range []func(string) error{gemm.Sets.Select, attn.Sets.Select, vec.Sets.Select} {
		if err == nil {
			err = choose(name)
		}
	}
	if err != nil {
		return "", fmt.Errorf("cpu: %w", err)
	}
	return name, nil
})

// KernelSets lists what this CPU can execute, the best first.
func KernelSets() []string {
	var names []string
	for _, s := range gemm.Sets.All() {
		_, noAttn := attn.Sets.Named(s.Name())
		_, noVec := vec.Sets.Named(s.Name())
		if noAttn == nil && noVec == nil {
			names = append(names, s.Name())
		}
	}
	return names
}

// SelfTest computes known answers with the named kernel set.
func SelfTest(name string) error {
	products, err := gemm.Sets.Named(name)
	if err != nil {
		return err
	}
	attention, err := attn.Sets.Named(name)
	if err != nil {
		return err
	}
	vectors, err := vec.Sets.Named(name)
	if err != nil {
		return err
	}
	// Side by side: every process begins with this.
	var all sync.WaitGroup
	var ofAttention, ofVectors error
	all.Go(func() { ofAttention = attention.Check() })
	all.Go(func() { ofVectors = vectors.Check() })
	ofProducts := gemm.SelfTest(products)
	all.Wait()
	return errors.Join(ofProducts, ofAttention, ofVectors)
}

// chooseKernels picks a set. One that was asked for must pass; otherwise a set
// that fails is passed over, with a line in the log.
func chooseKernels(asked string, test func(name string) error) (string, error) {
	names := KernelSets()
	if asked != "" && !slices.Contains(names, asked) {
		return "", fmt.Errorf("%s is %q, this CPU has %s", KernelVariable, asked, strings.Join(names, ", "))
	}
	for _, name := range names {
		if asked != "" && name != asked {
			continue
		}
		err := test(name)
		if err == nil {
			return name, nil
		}
		if asked != "" {
			return "", err
		}
		slog.Warn("a kernel set fails its self-test and is not used: computing will be slower", "set", name, "error", err)
	}
	return "", fmt.Errorf("every kernel set fails its self-test: %s", strings.Join(names, ", "))
}
