package units

import (
	"testing"

	"pgregory.net/rapid"
)

func TestString(t *testing.T) {
	for _, c := range []struct {
		size Size
		want string
	}{
		{0, "0 B"}, {768, "768 B"}, {1023, "1023 B"}, {KiB, "1.00 KiB"}, {1536, "1.50 KiB"},
		{10 * MiB, "10.0 MiB"}, {100 * MiB, "100 MiB"}, {1023 * MiB, "1023 MiB"}, {3 * GiB / 2, "1.50 GiB"},
		{-2 * KiB, "-2.00 KiB"}, {5 * TiB, "5.00 TiB"},
	} {
		if got := c.size.String(); got != c.want {
			t.Errorf("Size(%d) = %q, want %q", int64(c.size), got, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Size{
		"0": 0, "4096": 4096, "12 B": 12, "64KiB": 64 * KiB, "64 kib": 64 * KiB, "1.5GiB": 3 * GiB / 2, " 2 TiB ": 2 * TiB,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "-1", "1.5", "12 MB", "NaN GiB", "9223372036854775808", "9000000000 GiB", "-1 KiB"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", text, got)
		}
	}
}

func TestParseKeepsWholeUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := Size(rapid.Int64Range(0, 99).Draw(t, "n"))
		for _, u := range suffixes {
			if got, err := ParseSize((n * u.size).String()); err != nil || got != n*u.size {
				t.Fatalf("%d %s came back as %d, %v", n, u.name, got, err)
			}
		}
	})
}
