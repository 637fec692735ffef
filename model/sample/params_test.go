package sample

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		change func(p *Params)
		want   string
	}{
		{func(p *Params) { p.Temperature = -0.1 }, "temperature is -0.1; want a finite number, 0 or more"},
		{func(p *Params) { p.Temperature = nan }, "temperature is NaN"},
		{func(p *Params) { p.Temperature = inf }, "temperature is +Inf"},
		{func(p *Params) { p.DynamicTemperature.Range = -1 }, "dynamic_temperature.range is -1"},
		{func(p *Params) { p.DynamicTemperature.Exponent = -1 }, "dynamic_temperature.exponent is -1"},
		{func(p *Params) { p.TopP = 1.5 }, "top_p is 1.5; want 0 to 1"},
		{func(p *Params) { p.MinP = -1 }, "min_p is -1"},
		{func(p *Params) { p.Typical = nan }, "typical_p is NaN"},
		{func(p *Params) { p.TopNSigma = inf }, "top_n_sigma is +Inf; want a finite number"},
		{func(p *Params) { p.XTC.Probability = 2 }, "xtc.probability is 2"},
		{func(p *Params) { p.XTC.Threshold = -2 }, "xtc.threshold is -2"},
		{func(p *Params) { p.Mirostat.Version = 3 }, "mirostat.version is 3; want 0 to 2"},
		{func(p *Params) { p.Mirostat.Tau = -1 }, "mirostat.tau is -1"},
		{func(p *Params) { p.Mirostat.Eta = nan }, "mirostat.eta is NaN"},
		{func(p *Params) { p.RepeatPenalty = -1 }, "repeat_penalty is -1"},
		{func(p *Params) { p.PresencePenalty = inf }, "presence_penalty is +Inf"},
		{func(p *Params) { p.FrequencyPenalty = -inf }, "frequency_penalty is -Inf"},
		{func(p *Params) { p.RepeatLastN = -2 }, "repeat_last_n is -2; want a finite number, -1 or more"},
		{func(p *Params) { p.DRY.Multiplier = -1 }, "dry.multiplier is -1"},
		{func(p *Params) { p.DRY.Base = 0.5 }, "dry.base is 0.5; want a finite number, 1 or more"},
		{func(p *Params) { p.DRY.AllowedLength = -1 }, "dry.allowed_length is -1"},
		{func(p *Params) { p.DRY.PenaltyLastN = -2 }, "dry.penalty_last_n is -2"},
		{func(p *Params) { p.TopLogprobs = -1 }, "top_logprobs is -1"},
		{func(p *Params) { p.TopLogprobs = 3 }, "logprobs is off"},
		{func(p *Params) { p.LogitBias = map[int32]float32{7: float32(inf)} }, "logit_bias of token 7 is +Inf"},
		{func(p *Params) { p.LogitBias = map[int32]float32{7: float32(nan)} }, "logit_bias of token 7 is NaN"},
	} {
		p := Defaults()
		c.change(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v; want %q in it", err, c.want)
		}
		if _, err := New(p, 10, textOf); err == nil {
			t.Errorf("New takes what Validate refuses: %s", c.want)
		}
	}
	for _, p := range []Params{{}, Defaults(), {TopK: -1, TopNSigma: -1}} {
		if err := p.Validate(); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	dry := Defaults()
	dry.DRY.Multiplier = 1
	for _, c := range []struct {
		p     Params
		vocab int
		want  string
	}{
		{Params{}, 0, "a vocabulary of 0 tokens"},
		{Params{LogitBias: map[int32]float32{10: 1}}, 10, "logit_bias of token 10"},
		{Params{LogitBias: map[int32]float32{-1: 1}}, 10, "logit_bias of token -1"},
		{Params{Logprobs: true, TopLogprobs: 11}, 10, "top_logprobs is 11"},
		{dry, 10, "piece function"},
	} {
		if _, err := New(c.p, c.vocab, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v; want %q in it", err, c.want)
		}
	}
}

func TestParamsAsJSON(t *testing.T) {
	want := Defaults()
	want.LogitBias = map[int32]float32{5: -1.5}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Params
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is read as %+v; want %+v", b, got, want)
	}
}
