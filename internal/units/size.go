// Package units reads and writes sizes as people type and read them: plain
// bytes, or a number with KiB, MiB, GiB or TiB (powers of 1024).
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes.
type Size int64

// The binary multiples.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
	TiB Size = 1 << 40
)

var suffixes = []struct {
	name string
	size Size
}{{"TiB", TiB}, {"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}, {"B", 1}}

// String writes the size with three significant digits, "1.50 GiB" say, and
// exactly below 1 KiB, "768 B".
func (s Size) String() string {
	abs := math.Abs(float64(s))
	for _, u := range suffixes {
		v := abs / float64(u.size)
		if v < 1 || u.size == 1 {
			continue
		}
		decimals := 2
		switch {
		case v >= 99.95:
			decimals = 0
		case v >= 9.995:
			decimals = 1
		}
		return strconv.FormatFloat(math.Copysign(v, float64(s)), 'f', decimals, 64) + " " + u.name
	}
	return fmt.Sprintf("%d B", int64(s))
}

// ParseSize reads "4096", "64KiB", "1.5 GiB". The suffix may be in any case.
func ParseSize(text string) (Size, error) {
	number, unit := strings.TrimSpace(text), Size(1)
	lower := strings.ToLower(number)
	for _, u := range suffixes {
		if rest, ok := strings.CutSuffix(lower, strings.ToLower(u.name)); ok {
			number, unit = strings.TrimSpace(rest), u.size
			break
		}
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		if n < 0 || n > math.MaxInt64/int64(unit) {
			return 0, fmt.Errorf("size %q is out of range", text)
		}
		return Size(n) * unit, nil
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || unit == 1 || math.IsNaN(v) {
		return 0, fmt.Errorf("size %q: want bytes, or a number with KiB, MiB, GiB or TiB", text)
	}
	v *= float64(unit)
	if v < 0 || v >= math.MaxInt64 {
		return 0, fmt.Errorf("size %q is out of range", text)
	}
	return Size(v), nil
}

// UnmarshalText lets command-line flags and JSON hold sizes.
func (s *Size) UnmarshalText(text []byte) error {
	v, err := ParseSize(string(text))
	if err == nil {
		*s = v
	}
	return err
}
