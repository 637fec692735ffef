package sample

import (
	"fmt"
	"math"
)

// Params are the settings of a chain. The zero value of a field switches its
// step off, unless the field says otherwise; the zero value of Params is
// therefore greedy. Start from [Defaults] to get what users expect.
type Params struct {
	// Temperature divides the logits. 0 is greedy: the largest logit wins.
	Temperature float64 `json:"temperature"`
	// DynamicTemperature lets the temperature follow the entropy.
	DynamicTemperature DynamicTemperature `json:"dynamic_temperature"`

	// TopK keeps the k largest logits. 0 and below is off.
	TopK int `json:"top_k"`
	// TopP keeps the smallest set of likely tokens whose probability is at
	// least p. 0 and 1 are off.
	TopP float64 `json:"top_p"`
	// MinP keeps the tokens at least p times as likely as the likeliest.
	MinP float64 `json:"min_p"`
	// Typical keeps the smallest set, of probability at least p, of the tokens
	// whose surprise is closest to the entropy. 0 and 1 are off.
	Typical float64 `json:"typical_p"`
	// TopNSigma keeps the logits within n standard deviations of the largest.
	// 0 and below is off.
	TopNSigma float64 `json:"top_n_sigma"`
	// XTC now and then leaves out the likeliest tokens.
	XTC XTC `json:"xtc"`
	// Mirostat keeps the surprise of the text near a target; steps 4 to 9 of
	// the chain are then not used.
	Mirostat Mirostat `json:"mirostat"`

	// RepeatPenalty divides the positive logits of recent tokens and multiplies
	// the negative ones. 0 and 1 are off.
	RepeatPenalty float64 `json:"repeat_penalty"`
	// PresencePenalty is subtracted from the logits of recent tokens.
	PresencePenalty float64 `json:"presence_penalty"`
	// FrequencyPenalty is subtracted once for each recent occurrence.
	FrequencyPenalty float64 `json:"frequency_penalty"`
	// RepeatLastN is how many tokens are recent to the three penalties: 0 is
	// none, so that they do nothing, and -1 is all.
	RepeatLastN int `json:"repeat_last_n"`
	// DRY holds down the token that would prolong a repeated run.
	DRY DRY `json:"dry"`

	// LogitBias is added to the logits of single tokens; -Inf bans one.
	LogitBias map[int32]float32 `json:"logit_bias,omitempty"`

	// Seed starts the random stream. A negative one is replaced by a random
	// one, which [Chain.Seed] tells. 0 is a seed like any other.
	Seed int64 `json:"seed"`

	// Logprobs asks for the log probability of each chosen token, and
	// TopLogprobs for so many of the likeliest as well. Both are those of the
	// model, before the chain. They cost an exponential for each token of the
	// vocabulary.
	Logprobs    bool `json:"logprobs"`
	TopLogprobs int  `json:"top_logprobs"`
}

// DynamicTemperature moves the temperature T between T-Range and T+Range: up
// where the model is unsure, down where it is sure. The place between the two
// is the entropy of the candidates over the largest that so many can have, to
// the power Exponent.
type DynamicTemperature struct {
	Range    float64 `json:"range"`
	Exponent float64 `json:"exponent"` // 0 stands for 1
}

// DRY subtracts Multiplier × Base^(n-AllowedLength) from the logit of a token
// that would prolong a run of n tokens, n at least AllowedLength, which the
// text ends with and has held before. A run does not reach back across an
// occurrence of one of Breakers in the text, and a token that itself holds one
// is never held down.
type DRY struct {
	Multiplier    float64 `json:"multiplier"`
	Base          float64 `json:"base"`           // 0 stands for 1.75
	AllowedLength int     `json:"allowed_length"` // 0 stands for 2
	// PenaltyLastN is how many tokens are looked at: 0 is none, so that DRY
	// does nothing, and -1 is all.
	PenaltyLastN int      `json:"penalty_last_n"`
	Breakers     []string `json:"sequence_breakers"`
}

// XTC ("exclude top choices") looks at the tokens whose probability is at least
// Threshold. If there are two or more, then with the given Probability all but
// the least likely of them are left out. Above a threshold of one half there
// never are two.
type XTC struct {
	Probability float64 `json:"probability"`
	Threshold   float64 `json:"threshold"` // 0 stands for 0.1
}

// Mirostat holds the mean surprise of the tokens, in bits, near Tau. After each
// token the allowed surprise moves against the error by the learning rate Eta.
// Version 1 estimates how many tokens to keep from Zipf's law; version 2 keeps
// those whose surprise is allowed. Surprise is that of the distribution before
// tokens are dropped, as in the paper. Version 0 is off.
type Mirostat struct {
	Version int     `json:"version"`
	Tau     float64 `json:"tau"` // 0 stands for 5
	Eta     float64 `json:"eta"` // 0 stands for 0.1
}

// Defaults returns the settings that users of llama.cpp know: temperature 0.8,
// top-k 40, top-p 0.95, min-p 0.05, no penalties, a random seed. Steps that
// are off have the numbers that make them useful once they are switched on.
func Defaults() Params {
	return Params{
		Temperature:        0.8,
		DynamicTemperature: DynamicTemperature{Exponent: 1},
		TopK:               40,
		TopP:               0.95,
		MinP:               0.05,
		XTC:                XTC{Threshold: 0.1},
		Mirostat:           Mirostat{Tau: 5, Eta: 0.1},
		RepeatPenalty:      1,
		RepeatLastN:        64,
		DRY: DRY{
			Base:          1.75,
			AllowedLength: 2,
			PenaltyLastN:  -1,
			Breakers:      []string{"\n", ":", "\"", "*"},
		},
		Seed: -1,
	}
}

// Validate reports the first setting that makes no sense, with its value and
// what would.
func (p Params) Validate() error {
	inf := math.Inf(1)
	for _, f := range []struct {
		name     string
		value    float64
		min, max float64
	}{
		{"temperature", p.Temperature, 0, inf},
		{"dynamic_temperature.range", p.DynamicTemperature.Range, 0, inf},
		{"dynamic_temperature.exponent", p.DynamicTemperature.Exponent, 0, inf},
		{"top_p", p.TopP, 0, 1},
		{"min_p", p.MinP, 0, 1},
		{"typical_p", p.Typical, 0, 1},
		{"top_n_sigma", p.TopNSigma, -inf, inf},
		{"xtc.probability", p.XTC.Probability, 0, 1},
		{"xtc.threshold", p.XTC.Threshold, 0, 1},
		{"mirostat.version", float64(p.Mirostat.Version), 0, 2},
		{"mirostat.tau", p.Mirostat.Tau, 0, inf},
		{"mirostat.eta", p.Mirostat.Eta, 0, inf},
		{"repeat_penalty", p.RepeatPenalty, 0, inf},
		{"presence_penalty", p.PresencePenalty, -inf, inf},
		{"frequency_penalty", p.FrequencyPenalty, -inf, inf},
		{"repeat_last_n", float64(p.RepeatLastN), -1, inf},
		{"dry.multiplier", p.DRY.Multiplier, 0, inf},
		{"dry.allowed_length", float64(p.DRY.AllowedLength), 0, inf},
		{"dry.penalty_last_n", float64(p.DRY.PenaltyLastN), -1, inf},
		{"top_logprobs", float64(p.TopLogprobs), 0, inf},
	} {
		if err := inRange(f.name, f.value, f.min, f.max); err != nil {
			return err
		}
	}
	if b := p.DRY.Base; b != 0 {
		if err := inRange("dry.base", b, 1, inf); err != nil {
			return err
		}
	}
	if p.TopLogprobs > 0 && !p.Logprobs {
		return fmt.Errorf("sample: top_logprobs is %d, but logprobs is off; switch it on", p.TopLogprobs)
	}
	for id, b := range p.LogitBias {
		if b != b || b > math.MaxFloat32 {
			return fmt.Errorf("sample: logit_bias of token %d is %v; want a finite number, or -Inf to ban it", id, b)
		}
	}
	return nil
}

// inRange wants a finite value from min to max.
func inRange(name string, v, min, max float64) error {
	if v >= min && v <= max && !math.IsInf(v, 0) {
		return nil
	}
	want := "a finite number"
	switch {
	case !math.IsInf(max, 1):
		want = fmt.Sprintf("%v to %v", min, max)
	case !math.IsInf(min, -1):
		want = fmt.Sprintf("a finite number, %v or more", min)
	}
	return fmt.Errorf("sample: %s is %v; want %s", name, v, want)
}

// filled puts in the numbers that a zero stands for.
func (p Params) filled() Params {
	for _, f := range []struct {
		field *float64
		value float64
	}{
		{&p.DynamicTemperature.Exponent, 1},
		{&p.TopP, 1},
		{&p.Typical, 1},
		{&p.XTC.Threshold, 0.1},
		{&p.Mirostat.Tau, 5},
		{&p.Mirostat.Eta, 0.1},
		{&p.RepeatPenalty, 1},
		{&p.DRY.Base, 1.75},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	if p.DRY.AllowedLength == 0 {
		p.DRY.AllowedLength = 2
	}
	return p
}
