package sample

import (
	"encoding/binary"
	"math"
	"testing"
)

// Any bits as logits, any numbers as settings: an error or a token that was
// allowed, never a crash.
func FuzzSample(f *testing.F) {
	f.Add([]byte{0, 0, 0x80, 0x3f, 0, 0, 0xc0, 0x7f}, 0.8, 0.9, 0.1, 1.1, uint8(0), int16(3))
	f.Add([]byte{0, 0, 0x80, 0xff, 0, 0, 0x80, 0x3f}, 0.0, 0.0, 0.0, 0.0, uint8(1), int16(0))
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 2.0, 0.5, 0.5, 2.0, uint8(2), int16(-1))
	f.Fuzz(func(t *testing.T, b []byte, temperature, p, q, x float64, version uint8, n int16) {
		var logits []float32
		for ; len(b) >= 4; b = b[4:] {
			logits = append(logits, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
		c, err := New(Params{
			Temperature:        temperature,
			DynamicTemperature: DynamicTemperature{p, q},
			TopK:               int(n),
			TopP:               p,
			MinP:               q,
			Typical:            p,
			TopNSigma:          x,
			XTC:                XTC{p, q},
			Mirostat:           Mirostat{int(version % 3), x, p},
			RepeatPenalty:      x,
			PresencePenalty:    q,
			FrequencyPenalty:   x,
			RepeatLastN:        int(n),
			DRY:                DRY{x, 1 + p, int(n), int(n), []string{"\n", "b *"}},
		}, len(logits), textOf)
		if err != nil {
			return
		}
		for range 5 {
			tok, err := c.Sample(logits)
			if err != nil {
				return
			}
			if v := logits[tok.ID]; v-v != 0 || !(tok.Prob > 0 && tok.Prob <= 1) {
				t.Fatalf("chose %+v, whose logit is %v", tok, v)
			}
			c.Accept(tok.ID)
		}
	})
}

// A text written in two pieces, anywhere cut, stops as the whole does.
func FuzzStopper(f *testing.F) {
	f.Add("hello\nUser: hi", "\nUser:", "ll\xff", uint8(7))
	f.Add("aaab", "aab", "ab", uint8(2))
	f.Add("\u0240", "0", "\x800", uint8(9))
	f.Fuzz(func(t *testing.T, text, a, b string, cut uint8) {
		if len(text) > 100 {
			return
		}
		stops := []string{a, b}
		want, match, _ := refStop(text, stops)
		at := min(int(cut), len(text))
		s := NewStopper(stops)
		if got, _ := writeAll(t, s, []string{text[:at], text[at:]}, want); got != want || s.Matched() != match {
			t.Fatalf("%q at %d with stops %q: %q, %q; want %q, %q", text, at, stops, got, s.Matched(), want, match)
		}
	})
}
