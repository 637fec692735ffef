package quantize

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gorun/gguf"
	"gorun/tensor"
)

// The real models that llama-quantize made have the same types, tensor by
// tensor, as a plan from the unquantized model.
func TestPlansAgainstModels(t *testing.T) {
	for _, test := range []struct{ from, prefix, recipes string }{
		{"stories260K-wide256-dense-F16", "stories260K-wide256-dense-", "Q2_K Q3_K_M Q4_0 Q4_K_M Q5_K_M Q6_K Q8_0 IQ4_XS"},
		{"tinystories656K-f32", "tinystories656K-", "Q4_0 Q4_K_M Q5_1 Q8_0"},
		// There is no unquantized file; only types and names count.
		{"stories260K-wide256-moe-Q4_K_M", "stories260K-wide256-moe-", "Q4_K_M MXFP4_MOE"},
	} {
		f := openModel(t, test.from+".gguf")
		for recipe := range strings.FieldsSeq(test.recipes) {
			want := openModel(t, test.prefix+recipe+".gguf")
			p := mustPlan(t, f, recipe, Options{AllowRequantize: true})
			if len(p.Tensors) != len(want.Tensors()) {
				t.Errorf("%s %s: %d tensors, want %d", test.from, recipe, len(p.Tensors), len(want.Tensors()))
			}
			for _, s := range p.Tensors {
				if x, ok := want.Tensor(s.Source.Name); !ok || x.Type != s.Type || x.Size != s.Bytes {
					t.Errorf("%s: %s is %v, want %v", recipe, s.Source.Name, s.Type, x.Type)
				}
			}
		}
	}
}

// The files are as long as those of llama-quantize. Where the types need no
// search and the source is the same, the tensors are the same bytes.
func TestFilesAgainstModels(t *testing.T) {
	f := openModel(t, "stories260K-wide256-dense-F16.gguf")
	table, err := os.Open(filepath.Join(models, "perplexity.tsv"))
	if err != nil {
		t.Skip(err)
	}
	defer table.Close()
	tested := 0
	for lines := bufio.NewScanner(table); lines.Scan(); {
		var name string
		var size int64
		if _, err := fmt.Sscan(lines.Text(), &name, &size); err != nil {
			t.Fatal(err)
		}
		r, err := ParseRecipe(name)
		if err != nil {
			continue // no recipe of ours
		}
		tested++
		p, err := NewPlan(f, r, Options{})
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(convert(t, p, 2))
		if err != nil || info.Size() != size {
			t.Errorf("%s: %d bytes, want %d (%v)", name, info.Size(), size, err)
		}
	}
	if tested < 18 {
		t.Errorf("only %d files compared", tested)
	}
	source := openModel(t, "tinystories656K-f32.gguf")
	for _, recipe := range []string{"Q4_0", "Q5_1", "Q8_0", "Q4_K_M"} { // the last falls back to q5_0 and q8_0
		got := open(t, convert(t, mustPlan(t, source, recipe, Options{}), 2))
		want := openModel(t, "tinystories656K-"+recipe+".gguf")
		for _, x := range got.Tensors() {
			if y, _ := want.Tensor(x.Name); !bytes.Equal(read(t, got, x), read(t, want, y)) {
				t.Errorf("%s: the bytes of %v differ", recipe, x)
			}
		}
	}
}

// In gemma-3-1b, Q4_K_M, rows are mostly not a multiple of 256. The numbers of
// tensors are those of the published file.
func TestFallbacks(t *testing.T) {
	const layers, width, inner = 26, 1152, 6912
	tensors := []gguf.Tensor{{Name: embeddingName, Type: tensor.BF16, Dims: []int64{width, 262144}}}
	add := func(i int, name string, row int64) {
		tensors = append(tensors, gguf.Tensor{Name: fmt.Sprintf("blk.%d.%s.weight", i, name), Type: tensor.BF16, Dims: []int64{row, 64}})
	}
	for i := range layers {
		for _, name := range []string{"attn_q", "attn_k", "attn_v", "ffn_up", "ffn_gate"} {
			add(i, name, width)
		}
		add(i, "attn_output", 1024)
		add(i, "ffn_down", inner)
	}
	h := &hyperparameters{arch: "gemma3", layers: layers, heads: 4, keyHeads: 1, outputIsEmbedding: true}
	got := map[tensor.Type]int{}
	for _, typ := range mustRecipe(t, "Q4_K_M").choose(tensors, h) {
		got[typ]++
	}
	want := map[tensor.Type]int{tensor.Q5_0: 117, tensor.Q8_0: 14, tensor.Q4_K: 39, tensor.Q6_K: 13}
	if !maps.Equal(got, want) {
		t.Errorf("types %v, want %v", got, want)
	}
	for _, test := range []struct {
		t    tensor.Type
		row  int64
		want tensor.Type
	}{
		{tensor.Q4_K, 512, tensor.Q4_K}, {tensor.Q4_K, 96, tensor.Q5_0}, {tensor.Q4_K, 100, tensor.F16},
		{tensor.Q2_K, 32, tensor.Q4_0}, {tensor.IQ4_XS, 64, tensor.IQ4_NL}, {tensor.Q4_0, 33, tensor.F16},
		{tensor.Q8_0_ROCMFPX, 48, tensor.F16}, {tensor.F32, 1, tensor.F32},
	} {
		if got := fitting(test.t, test.row); got != test.want {
			t.Errorf("%v in rows of %d: %v, want %v", test.t, test.row, got, test.want)
		}
	}
}

// Every recipe can be carried out: all types that it may choose have a
// quantizer, whatever the model.
func TestRecipes(t *testing.T) {
	names, fileTypes := map[string]bool{}, map[uint32]bool{}
	for _, r := range Recipes() {
		if names[r.Name] || fileTypes[r.FileType] {
			t.Errorf("%v (%d) is there twice", r, r.FileType)
		}
		names[r.Name], fileTypes[r.FileType] = true, true
		for _, spelling := range []string{r.Name, strings.ToLower(r.Name)} {
			if got, err := ParseRecipe(spelling); got != r || err != nil {
				t.Errorf("ParseRecipe(%q) = %v, %v", spelling, got, err)
			}
		}
		for _, h := range []hyperparameters{
			{layers: 32, heads: 8, keyHeads: 8}, {layers: 32, heads: 8, keyHeads: 2, outputIsEmbedding: true},
			{layers: 80, heads: 64, keyHeads: 8, arch: "llama"}, {layers: 5, heads: 32, keyHeads: 8, experts: 8}, {layers: 30, experts: 64},
		} {
			for _, row := range []int64{256, 96, 33} {
				tensors := layered(h.layers, row)
				types := r.choose(tensors, &h)
				if len(types) != len(tensors) {
					t.Errorf("%v: %d types for %d tensors", r, len(types), len(tensors))
				}
				for name, typ := range types {
					if !typ.CanQuantize() || row%int64(typ.BlockSize()) != 0 {
						t.Errorf("%v: %s with rows of %d is %v", r, name, row, typ)
					}
				}
			}
		}
	}
	for alias, name := range map[string]string{"Q4_K": "Q4_K_M", "q5_k": "Q5_K_M", "Q3_K": "Q3_K_M"} {
		if got := mustRecipe(t, alias); got.Name != name {
			t.Errorf("%s is %v", alias, got)
		}
	}
	if _, err := ParseRecipe("Q9"); err == nil || !strings.Contains(err.Error(), "Q4_K_M") || !strings.Contains(err.Error(), `"Q9"`) {
		t.Errorf("error %v", err)
	}
}

// layered makes the matrices of a model.
func layered(layers int, row int64) []gguf.Tensor {
	list := []gguf.Tensor{{Name: embeddingName, Dims: []int64{row, 2}}, {Name: outputName, Dims: []int64{row, 2}}}
	for i := range layers {
		for _, part := range []string{"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down", "ffn_gate_exps", "ffn_down_exps"} {
			dims := []int64{row, 2}
			if strings.HasSuffix(part, "exps") {
				dims = append(dims, 3)
			}
			list = append(list, gguf.Tensor{Name: fmt.Sprintf("blk.%d.%s.weight", i, part), Dims: dims})
		}
	}
	return list
}

// The mixes for AMD GPUs, of which there is no list of tensors to compare with.
func TestROCmFPMixes(t *testing.T) {
	h := &hyperparameters{layers: 32, heads: 8, keyHeads: 8, experts: 2}
	for _, test := range []struct {
		recipe, tensor string
		want           tensor.Type
	}{
		{"Q4_0_ROCMFP4", "output", tensor.Q6_K},
		{"Q4_0_ROCMFP4", "token_embd", tensor.Q4_0_ROCMFP4},
		{"Q4_0_ROCMFP4", "blk.0.attn_v", tensor.Q5_K},
		{"Q4_0_ROCMFP4", "blk.0.attn_k", tensor.Q4_0_ROCMFP4},
		{"Q4_0_ROCMFP4", "blk.20.ffn_down", tensor.Q6_K},
		{"Q4_0_ROCMFP4", "blk.21.ffn_down", tensor.Q5_K},
		{"Q4_0_ROCMFP4_LEAN", "token_embd", tensor.Q5_K},
		{"Q4_0_ROCMFP4_LEAN", "output", tensor.Q4_0_ROCMFP4},
		{"Q4_0_ROCMFP4_COHERENT", "token_embd", tensor.Q6_K},
		{"Q4_0_ROCMFP4_FAST", "output", tensor.Q4_0_ROCMFP4_FAST},
		{"Q4_0_ROCMFP4_FAST_COHERENT", "token_embd", tensor.Q6_K},
		{"Q4_0_ROCMFP4_STRIX", "blk.3.attn_k", tensor.Q4_0_ROCMFP4},
		{"Q4_0_ROCMFP4_STRIX", "blk.3.attn_q", tensor.Q4_0_ROCMFP4_FAST},
		{"Q4_0_ROCMFP4_STRIX_LEAN", "token_embd", tensor.Q5_K},
		{"Q6_0_ROCMFPX", "blk.1.attn_q", tensor.Q8_0_ROCMFPX},
		{"Q6_0_ROCMFPX", "blk.2.attn_q", tensor.Q6_0_ROCMFPX},
		{"Q6_0_ROCMFPX", "blk.28.ffn_down", tensor.Q8_0_ROCMFPX},
		{"Q6_0_ROCMFPX_LEAN", "blk.1.attn_q", tensor.Q6_0_ROCMFPX},
		{"Q3_0_ROCMFPX", "blk.15.attn_v", tensor.Q5_K},
		{"Q3_0_ROCMFPX", "blk.16.attn_v", tensor.Q4_K},
		{"Q3_0_ROCMFPX", "blk.5.ffn_up", tensor.Q3_0_ROCMFPX},
		{"Q8_0_ROCMFPX", "output", tensor.Q8_0_ROCMFPX},
		{"Q2_0_ROCMFPX", "output", tensor.Q6_K},
		{"Q2_0_ROCMFPX", "blk.5.ffn_up", tensor.Q2_0_ROCMFPX},
	} {
		got := mustRecipe(t, test.recipe).choose(layered(32, 256), h)[test.tensor+".weight"]
		if got != test.want {
			t.Errorf("%s: %s is %v, want %v", test.recipe, test.tensor, got, test.want)
		}
	}
}

func TestWhatIsConverted(t *testing.T) {
	for name, want := range map[string]bool{
		"blk.0.attn_q.weight": true, "output.weight": true, "blk.3.ffn_gate_exps.weight": true, "blk.3.ssm_out.weight": true,
		"blk.0.attn_norm.weight": false, "blk.0.attn_q.bias": false, "blk.2.ffn_gate_inp.weight": false, "blk.2.ffn_gate_inp_shexp.weight": true,
		"blk.0.ssm_conv1d.weight": false, "rope_freqs": false, "position_embd.weight": false, "token_types.weight": false,
	} {
		if got := converts(gguf.Tensor{Name: name, Dims: []int64{256, 4}}); got != want {
			t.Errorf("%s is converted: %t", name, got)
		}
	}
	for _, x := range []gguf.Tensor{
		{Name: "a.weight", Dims: []int64{256}}, {Name: "a.weight", Dims: []int64{256, 1, 1}},
		{Name: "a.weight", Type: tensor.I32, Dims: []int64{256, 4}}, {Name: "a.weight", Type: 9, Dims: []int64{256, 4}},
	} {
		if converts(x) {
			t.Errorf("%v is converted", x)
		}
	}
}

func TestOverrides(t *testing.T) {
	f := open(t, build(t, smallModel(tensor.F16), random))
	types := func(patterns ...string) (map[string]tensor.Type, error) {
		var o Options
		for _, text := range patterns {
			override, err := ParseOverride(text)
			if err != nil {
				t.Fatal(err)
			}
			o.Overrides = append(o.Overrides, override)
		}
		p, err := NewPlan(f, mustRecipe(t, "Q4_K_S"), o)
		if err != nil {
			return nil, err
		}
		m := map[string]tensor.Type{}
		for _, s := range p.Tensors {
			m[s.Source.Name] = s.Type
		}
		return m, nil
	}
	got, err := types(`blk\.0\..*ffn_=f16`, `ffn_(up|down)=q6_K`, `^output.weight$=Q8_0`, `attn_=q5_1`)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]tensor.Type{
		"output.weight": tensor.Q8_0, "token_embd.weight": tensor.Q4_K, "output_norm.weight": tensor.F32, "blk.0.attn_norm.weight": tensor.F32,
		"blk.0.ffn_up.weight": tensor.F16, "blk.1.ffn_up.weight": tensor.Q6_K, "blk.1.ffn_gate.weight": tensor.Q4_K, "blk.1.attn_q.weight": tensor.Q5_1,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	for pattern, words := range map[string][]string{
		"nothing=q4_0": {"nothing", "no tensor"}, "attn_norm=q8_0": {"attn_norm", "nothing that is converted"},
	} {
		_, err := types(pattern)
		for _, word := range words {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%s: error %v lacks %q", pattern, err, word)
			}
		}
	}
	for _, text := range []string{"", "x", "=q4_0", "x=", "x=q9", "x=iq1_s", "x(=q4_0", "x=i32"} {
		if o, err := ParseOverride(text); err == nil {
			t.Errorf("ParseOverride(%q) = %v", text, o)
		}
	}
	if o, err := ParseOverride("a=b=q4_0"); err != nil || o.Pattern.String() != "a=b" || o.Type != tensor.Q4_0 {
		t.Errorf("%v, %v", o, err)
	}
}

// A type that was asked for and does not fit is an error, not another type.
func TestOverrideThatDoesNotFit(t *testing.T) {
	f := open(t, build(t, []matrix{{"a.weight", tensor.F16, []int64{96, 4}}}, random))
	o, err := ParseOverride("a=q4_K")
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewPlan(f, mustRecipe(t, "Q8_0"), Options{Overrides: []Override{o}})
	for _, word := range []string{`"a.weight"`, "96", "q4_K"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("error %v lacks %q", err, word)
		}
	}
}

func TestRequantizing(t *testing.T) {
	f := open(t, build(t, smallModel(tensor.Q8_0), random))
	_, err := NewPlan(f, mustRecipe(t, "Q4_0"), Options{})
	var requantize *RequantizeError
	if !errors.As(err, &requantize) || !strings.Contains(err.Error(), "token_embd.weight") || !strings.Contains(err.Error(), "q8_0") {
		t.Errorf("error %v", err)
	}
	out := open(t, convert(t, mustPlan(t, f, "Q4_0", Options{AllowRequantize: true}), 1))
	if x, _ := out.Tensor("blk.0.attn_q.weight"); x.Type != tensor.Q4_0 {
		t.Errorf("%v", x)
	}
	// The same type is copied, and a float holds what there is.
	for _, recipe := range []string{"Q8_0", "F32"} {
		p := mustPlan(t, f, recipe, Options{})
		if recipe == "Q8_0" && p.BytesAfter() != p.BytesBefore() {
			t.Errorf("%d bytes of %d", p.BytesAfter(), p.BytesBefore())
		}
		convert(t, p, 1)
	}
}

func TestHyperparameters(t *testing.T) {
	w := gguf.NewWriter()
	w.Set("general.architecture", gguf.String("x"))
	w.Set("x.block_count", gguf.Uint32(7))
	w.Set("x.attention.head_count", gguf.Uint32(8))
	w.Set("x.attention.head_count_kv", gguf.Array([]int32{2, 0, 4}))
	w.Set("x.expert_count", gguf.Uint32(5))
	w.AddTensor(gguf.Tensor{Name: "t", Type: tensor.F32, Dims: []int64{4}}, nil)
	path := filepath.Join(t.TempDir(), "in.gguf")
	if err := w.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	h, err := readHyperparameters(open(t, path))
	if err != nil || h.layers != 7 || h.experts != 5 || h.grouping() != 4 || !h.outputIsEmbedding {
		t.Errorf("%+v, %v", h, err)
	}
	w.Set("x.block_count", gguf.String("seven"))
	if err := w.WriteFile(path); err == nil { // the data of a hole can be written again
		if _, err := NewPlan(open(t, path), mustRecipe(t, "Q4_0"), Options{}); err == nil || !strings.Contains(err.Error(), "x.block_count") {
			t.Errorf("error %v", err)
		}
	}
}

func TestLayerOf(t *testing.T) {
	for name, want := range map[string]int{"blk.12.attn_q.weight": 12, "blk.0.x": 0, "output.weight": -1, "blk.x.y": -1, "v.blk.3.x": -1, "blk.-1.x": -1} {
		if got := layerOf(name); got != want {
			t.Errorf("layerOf(%q) = %d, want %d", name, got, want)
		}
	}
}
