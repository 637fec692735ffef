package quantize

import (
	"fmt"
	"regexp"
	"strings"

	"gorun/gguf"
	"gorun/tensor"
)

// Options of a plan.
type Options struct {
	// Overrides replace what the recipe chooses. Of several that match a
	// tensor the first counts.
	Overrides []Override
	// AllowRequantize lets tensors be converted that are quantized already.
	// They have lost what the types in the file cannot hold, and lose more.
	AllowRequantize bool
}

// Override gives the tensors whose name matches a type.
type Override struct {
	Pattern *regexp.Regexp
	Type    tensor.Type
}

// ParseOverride reads PATTERN=TYPE. The pattern is a regular expression that
// matches anywhere in the name.
func ParseOverride(text string) (Override, error) {
	at := strings.LastIndexByte(text, '=')
	if at < 1 {
		return Override{}, fmt.Errorf("%q is not of the form PATTERN=TYPE", text)
	}
	t, err := tensor.ParseType(text[at+1:])
	if err != nil {
		return Override{}, err
	}
	if !t.CanQuantize() {
		return Override{}, fmt.Errorf("gorun cannot quantize to %v", t)
	}
	pattern, err := regexp.Compile(text[:at])
	return Override{pattern, t}, err
}

// Plan says what becomes of each tensor of a model.
type Plan struct {
	Recipe  *Recipe
	Tensors []Step // in the order of the file
	file    *gguf.File
}

// Step is what becomes of one tensor.
type Step struct {
	Source gguf.Tensor
	Type   tensor.Type // Source.Type: it is copied
	Bytes  int64
}

// Elements is the number of elements of the model.
func (p *Plan) Elements() (n int64) {
	for _, s := range p.Tensors {
		n += s.Source.Elements()
	}
	return n
}

// BytesBefore is the size of all tensors in the model.
func (p *Plan) BytesBefore() (n int64) {
	for _, s := range p.Tensors {
		n += s.Source.Size
	}
	return n
}

// BytesAfter is the size of all tensors when they are converted.
func (p *Plan) BytesAfter() (n int64) {
	for _, s := range p.Tensors {
		n += s.Bytes
	}
	return n
}

// NewPlan chooses the types. The file must stay open until the plan has been
// carried out.
func NewPlan(f *gguf.File, r *Recipe, o Options) (*Plan, error) {
	h, err := readHyperparameters(f)
	if err != nil {
		return nil, fmt.Errorf("quantize: %w", err)
	}
	tensors := f.Tensors()
	types := r.choose(tensors, h)
	if err := override(types, tensors, o.Overrides); err != nil {
		return nil, err
	}
	p := &Plan{Recipe: r, file: f}
	for _, t := range tensors {
		step := Step{Source: t, Type: t.Type, Bytes: t.Size}
		if to, ok := types[t.Name]; ok && to != t.Type {
			if t.Type.BlockSize() > 1 && to.BlockSize() > 1 && !o.AllowRequantize {
				return nil, &RequantizeError{t}
			}
			step.Type = to
			row, err := to.RowSize(t.Dims[0])
			if err != nil {
				return nil, fmt.Errorf("quantize: tensor %q: %w", t.Name, err)
			}
			step.Bytes = row * t.Rows()
		}
		p.Tensors = append(p.Tensors, step)
	}
	return p, nil
}

// override applies the overrides to the tensors that are converted. One that
// matches none of them is an error: it does not do what was asked for.
func override(types map[string]tensor.Type, tensors []gguf.Tensor, overrides []Override) error {
	for i := len(overrides) - 1; i >= 0; i-- { // the first has the last word
		o, matched := overrides[i], ""
		used := false
		for _, t := range tensors {
			if !o.Pattern.MatchString(t.Name) {
				continue
			}
			matched = t.Name
			if _, ok := types[t.Name]; ok {
				types[t.Name] = o.Type
				used = true
			}
		}
		switch {
		case used:
		case matched != "":
			return fmt.Errorf("quantize: %v=%v matches %q and nothing that is converted: norms, biases, routers and small tensors keep their type", o.Pattern, o.Type, matched)
		default:
			return fmt.Errorf("quantize: %v=%v matches no tensor", o.Pattern, o.Type)
		}
	}
	return nil
}

// RequantizeError is a tensor that would be quantized twice.
type RequantizeError struct{ Tensor gguf.Tensor }

func (e *RequantizeError) Error() string {
	return fmt.Sprintf("quantize: tensor %q is %v already; quantizing it again makes it worse than quantizing the original model", e.Tensor.Name, e.Tensor.Type)
}
