package quantize

import (
	"slices"
	"strconv"
	"strings"

	"gorun/gguf"
)

// role is what a tensor does in a model, as far as the choice of its type
// depends on that.
type role int

const (
	other role = iota
	output
	embedding
	query
	key
	value // the fused tensors that hold values too
	attnOutput
	gate
	up
	down
)

// roles has the parts of names that tell the role; the first that a name
// contains counts.
var roles = []struct {
	part string
	role role
}{
	{"attn_qkv.weight", value},
	{"attn_kv_b.weight", value},
	{"attn_v.weight", value},
	{"attn_k.weight", key},
	{"attn_q.weight", query},
	{"attn_output.weight", attnOutput},
	{"ffn_up", up},
	{"ffn_gate", gate},
	{"ffn_down", down},
}

const (
	outputName    = "output.weight"
	embeddingName = "token_embd.weight"
)

func roleOf(name string) role {
	switch name {
	case outputName:
		return output
	case embeddingName, "per_layer_token_embd.weight":
		return embedding
	}
	for _, r := range roles {
		if strings.Contains(name, r.part) {
			return r.role
		}
	}
	return other
}

// layerOf returns the number in a name like blk.7.attn_q.weight, and -1 for a
// tensor that is not of a layer.
func layerOf(name string) int {
	rest, ok := strings.CutPrefix(name, "blk.")
	if !ok {
		return -1
	}
	number, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// small are parts of the names of matrices that are left as they are: they are
// small, and routing, convolutions, positions and mixing coefficients do not
// bear rounding.
var small = []string{
	"_norm.weight",
	"ffn_gate_inp.weight", "ffn_gate_tid2eid.weight",
	"altup", "laurel", "per_layer_model_proj",
	"ssm_conv1d", "shortconv.conv.weight",
	"indexer.k_proj.weight", "indexer.q_proj.weight",
	"time_mix_first.weight", "time_mix_w0.weight", "time_mix_w1.weight", "time_mix_w2.weight",
	"time_mix_v0.weight", "time_mix_v1.weight", "time_mix_v2.weight",
	"time_mix_a0.weight", "time_mix_a1.weight", "time_mix_a2.weight",
	"time_mix_g1.weight", "time_mix_g2.weight",
	"time_mix_decay_w1.weight", "time_mix_decay_w2.weight", "time_mix_lerp_fused.weight",
	"attn_rel_b.weight", "position_embd", "token_types", ".rel_pos", ".patch_embd", ".patch_merger",
	"sam.pos_embd", "sam.neck.", "sam.net_", "a.rvq.codebook", "mm.a.code_embd",
}

// converts reports whether a tensor is converted at all: a matrix, or a stack
// of matrices, that is not small.
func converts(t gguf.Tensor) bool {
	matrix := slices.ContainsFunc(t.Dims[1:], func(d int64) bool { return d > 1 })
	return matrix && t.Type.CanDequantize() && strings.HasSuffix(t.Name, "weight") &&
		!slices.ContainsFunc(small, func(part string) bool { return strings.Contains(t.Name, part) })
}
