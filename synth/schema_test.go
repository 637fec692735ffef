package synth

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gorun/gguf"
	"gorun/tensor"
)

// schemas is where dumps of the metadata of real models are. They are not part
// of the project.
const schemas = "../../shared/data/schemas"

// dumps are files with the metadata of real models, and the shapes that they
// are of.
var dumps = []struct {
	file, shape string
	parts       []part
}{
	{"minimax-m2.7-UD-IQ3_S.loader-log.txt", "minimax-m2-229b", []part{
		{"experts", isExpert, []string{"iq3_s", "iq2_s"}},
	}},
	{"qwen3.5-35B-A3B-UD-Q4_K_XL.kv.txt", "qwen35-35b-a3b", []part{
		{"experts", isExpert, []string{"q4_K", "q5_K", "q6_K"}},
	}},
	{"gpt-oss-20b-MXFP4.kv.txt", "gpt-oss-20b", []part{
		{"experts", isExpert, []string{"mxfp4"}},
	}},
	{"qwen3-30B-A3B-Thinking-2507.kv.txt", "qwen3-30b-a3b", nil},
	{"gemma-3-1b-it-Q4_K_M.kv.txt", "gemma3-1b", []part{
		{"rows without blocks of 256", func(x content) bool { return x.Type == tensor.Q5_0 }, []string{"q5_0", "q8_0"}},
	}},
}

// part is some of a model's matrices, and the types that these, and no others,
// have in the real one.
type part struct {
	name  string
	is    func(content) bool
	types []string
}

func isExpert(x content) bool { return strings.HasSuffix(x.Name, "_exps.weight") }

// notOfShape are keys of the dumps that say nothing about the shape of a model,
// as patterns of path.Match.
var notOfShape = []struct{ pattern, reason string }{
	{"general.name", "what the model is called"},
	{"general.basename", "what the model is called"},
	{"general.size_label", "what the model is called"},
	{"general.tags", "where the model is listed"},
	{"general.license", "the weights are nobody's"},
	{"general.license.*", "the weights are nobody's"},
	{"general.repo_url", "where the file comes from"},
	{"general.base_model.*", "where the model comes from"},
	{"general.quantized_by", "who made the file"},
	{"general.file_type", "a recipe of many types; synth takes one"},
	{"general.sampling.*", "advice for samplers"},
	{"quantize.imatrix.*", "how the file was quantized"},
	{"split.*", "how the file was cut; synth writes one"},
	{"tokenizer.ggml.model", "the tokenizer is a plain byte-level one"},
	{"tokenizer.ggml.pre", "the tokenizer is a plain byte-level one"},
	{"tokenizer.ggml.merges", "the tokenizer has but a few"},
	{"tokenizer.ggml.scores", "byte-level tokens have none"},
	{"tokenizer.ggml.*_token_id", "its tokens with a role have places of their own"},
	{"tokenizer.ggml.add_*", "its texts begin as it likes"},
	{"tokenizer.chat_template", "its template is of its own tokens"},
}

// madeUp are arrays of which the dumps and synth share type and length alone,
// as the tokens are others.
var madeUp = []string{"tokenizer.ggml.tokens", "tokenizer.ggml.token_type"}

// TestSchemas compares metadata and tensors with those of real models.
func TestSchemas(t *testing.T) {
	if _, err := os.Stat(schemas); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no dumps of real models in %s", schemas)
	}
	unused := map[string]bool{}
	for _, x := range notOfShape {
		unused[x.pattern] = true
	}
	for _, c := range dumps {
		text, err := os.ReadFile(filepath.Join(schemas, c.file))
		if err != nil {
			t.Error(err)
			continue
		}
		m, err := New(Options{Like: c.shape, Type: tensor.Q4_K})
		if err != nil {
			t.Fatal(err)
		}
		entries, err := parseDump(string(text))
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
		}
		problems := compareKeys(entries, m.builder, unused)
		problems = append(problems, compareTypes(string(text), m.builder.tensors, c.parts)...)
		problems = append(problems, compareInfo(string(text), m)...)
		for _, p := range problems {
			t.Errorf("%s, %s: %s", c.shape, c.file, p)
		}
	}
	for pattern := range unused {
		t.Errorf("no dump has %s", pattern)
	}
}

// compareKeys compares the keys that describe the model, and deletes the
// patterns of the others from unused.
func compareKeys(entries []dumped, b *builder, unused map[string]bool) (problems []string) {
	of := b.shape.arch + "."
	seen, described := map[string]bool{}, 0
	for _, e := range entries {
		seen[e.key] = true
		if pattern, ok := excepted(e.key); ok {
			delete(unused, pattern)
			continue
		}
		if strings.HasPrefix(e.key, of) {
			described++
		}
		if err := e.compare(&b.keys); err != nil {
			problems = append(problems, err.Error())
		}
	}
	if described < 10 {
		problems = append(problems, fmt.Sprintf("%d keys that describe the model", described))
	}
	for key, v := range b.keys.All() {
		if strings.HasPrefix(key, of) && !seen[key] {
			problems = append(problems, fmt.Sprintf("synth alone has %s = %s", key, show(v)))
		}
	}
	return problems
}

// excepted returns the pattern of notOfShape that a key matches.
func excepted(key string) (pattern string, ok bool) {
	for _, x := range notOfShape {
		if match, err := path.Match(x.pattern, key); match && err == nil {
			return x.pattern, true
		}
	}
	return "", false
}

func show(v gguf.Value) string {
	x, err := v.Any()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(x)
}

// dumped is a key of a dump. Its value is as printed, and empty if it is not.
type dumped struct {
	key, kind, elem, length, value string
}

var (
	keyLine   = regexp.MustCompile(`^(?:llama_model_loader: - kv +\d+: +)?([a-z][\w.-]*) (str|bool|[uif]\d+|arr\[(\w+),(\d+)\])(?: +=(?: (.*))?)?$`)
	keyCount  = regexp.MustCompile(`\b(\d+) (?:kv\b|key-value pairs)`)
	typeCount = regexp.MustCompile(`(?m)\b(f32|i?q\d_\w+|mxfp4)(?:: +| )(\d+)\b`)
	allCount  = regexp.MustCompile(`\b(\d+) tensors\b`)
	infoLine  = regexp.MustCompile(`(?m)^print_info: ([\w ]+?) += (\S+)( B)?$`)
)

// parseDump returns the keys of a dump. A log has all of them; the other dumps
// are extracts.
func parseDump(text string) (entries []dumped, err error) {
	isLog := strings.HasPrefix(text, "llama_model_loader:")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", strings.HasPrefix(line, "#"):
		case isLog && !strings.Contains(line, "- kv "):
		case !isLog && strings.HasPrefix(line, "quantize.imatrix."): // two keys in a line
		default:
			m := keyLine.FindStringSubmatch(line)
			if m == nil {
				return entries, fmt.Errorf("no key: %s", line)
			}
			entries = append(entries, dumped{m[1], m[2], m[3], m[4], m[5]})
		}
	}
	n := keyCount.FindStringSubmatch(text)
	if n == nil {
		return entries, errors.New("no number of keys")
	}
	if isLog && n[1] != strconv.Itoa(len(entries)) {
		return entries, fmt.Errorf("%d keys, not %s", len(entries), n[1])
	}
	return entries, nil
}

// compare looks for the key in metadata, with the same type and, as far as it
// is printed, the same value.
func (d dumped) compare(keys *gguf.Metadata) error {
	v, ok := keys.Get(d.key)
	if !ok {
		return fmt.Errorf("synth lacks %s %s = %s", d.key, d.kind, d.value)
	}
	kind := v.Type().String()
	switch v.Type() {
	case gguf.TypeString:
		kind = "str"
	case gguf.TypeArray:
		elem := strings.Replace(v.ElemType().String(), "string", "str", 1)
		kind = fmt.Sprintf("arr[%s,%d]", elem, v.Len())
	}
	if kind != d.kind {
		return fmt.Errorf("%s is %s, not %s", d.key, kind, d.kind)
	}
	if slices.Contains(madeUp, d.key) {
		return nil
	}
	got, err := v.Any()
	if err != nil {
		return fmt.Errorf("%s: %w", d.key, err)
	}
	if v.Type() != gguf.TypeArray {
		if !printsAs(got, d.value) {
			return fmt.Errorf("%s is %v, not %s", d.key, got, d.value)
		}
		return nil
	}
	list := reflect.ValueOf(got)
	shown := strings.Split(strings.Trim(d.value, "[]"), ", ")
	for i, want := range shown {
		if want == "..." {
			return nil
		}
		if i >= list.Len() || !printsAs(list.Index(i).Interface(), want) {
			return fmt.Errorf("%s is %v, not %s", d.key, got, d.value)
		}
	}
	if len(shown) != list.Len() {
		return fmt.Errorf("%s is %v, not %s", d.key, got, d.value)
	}
	return nil
}

// printsAs reports whether x is text, a float as far as text has its digits.
func printsAs(x any, text string) bool {
	f, ok := x.(float32)
	if !ok {
		return fmt.Sprint(x) == text
	}
	want, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return false
	}
	mantissa, _, scientific := strings.Cut(text, "e")
	_, digits, _ := strings.Cut(mantissa, ".")
	format := byte('f')
	if scientific {
		format = 'e'
	}
	got, err := strconv.ParseFloat(strconv.FormatFloat(float64(f), format, len(digits), 32), 64)
	return err == nil && got == want
}

// compareTypes compares the number of tensors, of f32 tensors, and of the
// parts, with what a dump says.
func compareTypes(text string, tensors []content, parts []part) (problems []string) {
	types := map[string]int{}
	for _, m := range typeCount.FindAllStringSubmatch(text, -1) {
		types[m[1]], _ = strconv.Atoi(m[2]) // digits
	}
	check := func(what string, is func(content) bool, want int) {
		got := 0
		for _, x := range tensors {
			if is(x) {
				got++
			}
		}
		if got != want {
			problems = append(problems, fmt.Sprintf("%d tensors that are %s, not %d", got, what, want))
		}
	}
	all := 0
	if m := allCount.FindStringSubmatch(text); m != nil {
		all, _ = strconv.Atoi(m[1])
	}
	check("of any type", func(content) bool { return true }, all)
	check("f32", func(x content) bool { return x.Type == tensor.F32 }, types["f32"])
	for _, p := range parts {
		want := 0
		for _, typ := range p.types {
			want += types[typ]
		}
		check(p.name, p.is, want)
	}
	return problems
}

// infoKeys are the keys of what a log prints about a model.
var infoKeys = map[string]string{
	"n_ctx_train": "context_length", "n_embd": "embedding_length", "n_layer": "block_count",
	"n_head": "attention.head_count", "n_head_kv": "attention.head_count_kv",
	"n_embd_head_k": "attention.key_length", "n_embd_head_v": "attention.value_length", "n_rot": "rope.dimension_count",
	"n_ff": "feed_forward_length", "n_expert": "expert_count", "n_expert_used": "expert_used_count",
	"f_norm_rms_eps": "attention.layer_norm_rms_epsilon", "freq_base_train": "rope.freq_base",
}

// compareInfo compares what a log prints about a model beside its keys.
func compareInfo(text string, m *Model) (problems []string) {
	lines := infoLine.FindAllStringSubmatch(text, -1)
	if len(lines) == 0 {
		return nil // no log
	}
	found := 0
	check := func(name string, got any, want string) {
		if found++; !printsAs(got, want) {
			problems = append(problems, fmt.Sprintf("%s is %v, not %s", name, got, want))
		}
	}
	for _, line := range lines {
		name, want := line[1], line[2]
		switch key, ok := infoKeys[name]; {
		case ok:
			v, _ := m.builder.keys.Get(m.builder.shape.arch + "." + key)
			got, err := v.Any()
			if err != nil {
				problems = append(problems, err.Error())
				continue
			}
			check(name, got, want)
		case name == "arch":
			check(name, m.builder.shape.arch, want)
		case name == "n_vocab":
			tokens, _ := m.builder.keys.Get("tokenizer.ggml.tokens")
			check(name, tokens.Len(), want)
		case name == "model params":
			check(name, float32(float64(m.Parameters())/1e9), want)
		}
	}
	if want := len(infoKeys) + 3; found != want {
		problems = append(problems, fmt.Sprintf("%d printed sizes, not %d", found, want))
	}
	return problems
}

// recipeFiles are files with the types that recipes of quantization give to the
// tensors of a model, by name, and the shapes that they are of. They list all
// blocks, those that predict further tokens included.
var recipeFiles = map[string]string{
	"deepseek-v3.1.schema": "deepseek-v3.1", "gemma-3-4b-it.schema": "gemma3-4b", "glm-4.6v.schema": "glm-4.6v",
	"gpt-oss-120b.schema": "gpt-oss-120b", "meta-llama-3.1-70b-instruct.schema": "llama-70b", "qwen3-0.6b.schema": "qwen3-0.6b",
	"qwen3-14b.schema": "qwen3-14b", "qwen3-coder-next.schema": "qwen3-next-80b-a3b", "qwen3.5-27b.schema": "qwen35-27b",
	"qwen3.5-397b-a17b.schema": "qwen35-397b-a17b", "step-3.5-flash.schema": "step35",
}

// notMade are tensors that the recipe of a shape names and synth does not make.
var notMade = map[string]struct{ name, reason string }{
	"qwen3-0.6b": {"output.weight", "some files have the tied embedding twice"},
}

// TestRecipeNames looks for all tensors that recipes name.
func TestRecipeNames(t *testing.T) {
	if _, err := os.Stat(schemas); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no recipes of real models in %s", schemas)
	}
	for file, like := range recipeFiles {
		text, err := os.ReadFile(filepath.Join(schemas, file))
		if err != nil {
			t.Error(err)
			continue
		}
		mtp := slices.ContainsFunc(shapes, func(s shape) bool { return s.name == like && s.mtp > 0 })
		m, err := New(Options{Like: like, Type: tensor.Q4_K, MTP: mtp})
		if err != nil {
			t.Fatal(err)
		}
		has := map[string]bool{}
		for _, x := range m.builder.tensors {
			has[x.Name] = true
		}
		missing := map[string]bool{}
		named := 0
		for line := range strings.Lines(string(text)) {
			name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			if strings.HasPrefix(name, "#") || !strings.HasSuffix(name, ".weight") {
				continue
			}
			if named++; !has[name] && name != notMade[like].name {
				missing[name] = true
			}
		}
		if named == 0 || len(missing) > 0 {
			t.Errorf("%s, %s: of %d names synth lacks %v", like, file, named, missing)
		}
	}
}
