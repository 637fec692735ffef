package cpu

import (
	"errors"
	"strings"
	"testing"
)

func TestChooseKernels(t *testing.T) {
	names := KernelSets()
	if len(names) == 0 || names[len(names)-1] != "generic" {
		t.Fatalf("kernel sets %v", names)
	}
	pass := func(string) error { return nil }
	broken := errors.New("broken")
	failing := func(which ...string) func(string) error {
		return func(name string) error {
			if strings.Contains(strings.Join(which, " "), name) {
				return broken
			}
			return nil
		}
	}
	if got, err := chooseKernels("", pass); err != nil || got != names[0] {
		t.Errorf("best: %q, %v", got, err)
	}
	if got, err := chooseKernels("generic", pass); err != nil || got != "generic" {
		t.Errorf("forced: %q, %v", got, err)
	}
	if got, err := chooseKernels("", failing(names[:len(names)-1]...)); err != nil || got != "generic" {
		t.Errorf("fallback: %q, %v", got, err)
	}
	if _, err := chooseKernels("", failing(names...)); err == nil {
		t.Error("all sets fail, and one was chosen")
	}
	if _, err := chooseKernels("generic", failing("generic")); !errors.Is(err, broken) {
		t.Errorf("a forced set that fails: %v", err)
	}
	if _, err := chooseKernels("mmx", pass); err == nil || !strings.Contains(err.Error(), "generic") {
		t.Errorf("an unknown set: %v", err)
	}
}

func TestSelfTest(t *testing.T) {
	for _, name := range KernelSets() {
		if err := SelfTest(name); err != nil {
			t.Error(err)
		}
	}
	if err := SelfTest("mmx"); err == nil {
		t.Error("an unknown set passes")
	}
}
