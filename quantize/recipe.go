package quantize

import (
	"fmt"
	"slices"
	"strings"

	"gorun/tensor"
)

// Recipe says which types the tensors of a model get.
type Recipe struct {
	Name     string
	FileType uint32      // general.file_type
	Type     tensor.Type // of what no rule is for

	alias string // another name

	// The types of the output and of the token embedding. Where they are the
	// same tensor, it has the type of the output, unless tied says otherwise.
	// Not set, the output has a type that suits Type and the embedding is
	// like any other tensor.
	output, embedding, tied tensor.Type

	// Rules for the matrices of a layer by their role; nil is no rule.
	query, key, value, attnOutput, gate, down rule

	// matrix, if set, is the type of all that is not a stack of experts, the
	// embedding and the output included.
	matrix tensor.Type

	// Mixes of the ROCmFPX family spend no extra bits on models of 8 experts.
	plainEight bool
}

// String returns the name.
func (r *Recipe) String() string { return r.Name }

// Recipes returns all recipes, the plain types first.
func Recipes() []*Recipe { return slices.Clone(recipes) }

// ParseRecipe returns the recipe of that name, ignoring case.
func ParseRecipe(name string) (*Recipe, error) {
	var names []string
	for _, r := range recipes {
		if strings.EqualFold(r.Name, name) || r.alias != "" && strings.EqualFold(r.alias, name) {
			return r, nil
		}
		names = append(names, r.Name)
	}
	return nil, fmt.Errorf("unknown type %q; the types are %s", name, strings.Join(names, ", "))
}

// A rule picks the type of a matrix by its layer. Its zero result, which is
// that of f32, means that the rule does not apply.
type rule func(l layer) tensor.Type

// layer is where in a model a matrix is.
type layer struct {
	i, n  int // i-th of n
	model *hyperparameters
}

// none is the result of a rule that does not apply.
const none = tensor.F32

// is picks t everywhere.
func is(t tensor.Type) rule { return func(layer) tensor.Type { return t } }

// when picks t in the layers for which a condition holds.
func when(t tensor.Type, condition func(l layer) bool) rule {
	return func(l layer) tensor.Type {
		if condition(l) {
			return t
		}
		return none
	}
}

// first applies the first of the rules that applies.
func first(rules ...rule) rule {
	return func(l layer) tensor.Type {
		for _, r := range rules {
			if t := r(l); t != none {
				return t
			}
		}
		return none
	}
}

// byExperts applies one rule to models of 8 experts and another to all others.
func byExperts(eight, other rule) rule {
	return func(l layer) tensor.Type {
		if l.model.experts == 8 {
			return eight(l)
		}
		return other(l)
	}
}

// Conditions.

// sensitive holds for the first and last eighth of the layers and for every
// third between.
func sensitive(l layer) bool {
	eighth := l.n / 8
	return l.i < eighth || l.i >= 7*l.n/8 || (l.i-eighth)%3 == 2
}

// grouped holds if at least four query heads share a key head, so that keys and
// values are small.
func grouped(l layer) bool { return l.model.grouping() >= 4 }

// firstPart holds for the first of so many equal parts of the layers.
func firstPart(parts int) func(layer) bool {
	return func(l layer) bool { return l.i < l.n/parts }
}

// from holds from a fraction of the layers on.
func from(numerator, denominator int) func(layer) bool {
	return func(l layer) bool { return l.i >= numerator*l.n/denominator }
}

// below holds for so many layers.
func below(n int) func(layer) bool { return func(l layer) bool { return l.i < n } }

// anyOf holds if one of the conditions does.
func anyOf(conditions ...func(layer) bool) func(layer) bool {
	return func(l layer) bool {
		return slices.ContainsFunc(conditions, func(c func(layer) bool) bool { return c(l) })
	}
}
