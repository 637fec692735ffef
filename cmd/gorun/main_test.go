package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gorun/gguf"
	"gorun/tensor"
)

// outcome is what a command line did.
type outcome struct {
	code     int
	out, err string
}

// gorun runs a command line with the given standard input.
func gorun(stdin string, args ...string) outcome {
	var out, errs bytes.Buffer
	code := execute(args, &streams{in: strings.NewReader(stdin), out: &out, err: &errs})
	return outcome{code, out.String(), errs.String()}
}

const (
	golden = "../../testdata/golden/"
	oz     = "../../demo/oz-q8_0.gguf"
)

func TestRun(t *testing.T) {
	const dorothy = " was quite as the Munchkins, and that flew straight"
	for name, c := range map[string]struct {
		stdin string
		args  []string
	}{
		"flag":         {"", []string{"run", "-p", "Dorothy", "-n", "20", "--temp", "0"}},
		"file":         {"", []string{"run", "--file", file(t, "Dorothy"), "-n", "20", "--temp", "0"}},
		"stdin":        {"Dorothy", []string{"run", "-n", "20", "--temp", "0"}},
		"named model":  {"", []string{"run", oz, "-p", "Dorothy", "-n", "20", "--temp", "0", "--no-chat"}},
		"in memory":    {"", []string{"run", oz, "-p", "Dorothy", "-n", "20", "--temp", "0", "--weights", "memory"}},
		"one thread":   {"", []string{"run", oz, "-p", "Dorothy", "-n", "20", "--temp", "0", "-t", "1", "--batch", "1"}},
		"f32 KV":       {"", []string{"run", oz, "-p", "Dorothy", "-n", "20", "--temp", "0", "--kv", "f32:f16", "--kv-block", "4"}},
		"stop text":    {"", []string{"run", oz, "-p", "Dorothy", "--temp", "0", "--stop", " to the South", "--stop", "Witch"}},
		"top-k 1":      {"", []string{"run", oz, "-p", "Dorothy", "-n", "20", "--top-k", "1"}},
		"room for all": {"", []string{"run", oz, "-p", "Dorothy", "-n", "20", "--temp", "0", "--memory", "1GiB"}},
	} {
		got := gorun(c.stdin, c.args...)
		if got.code != 0 || !strings.HasPrefix(got.out, dorothy[:20]) || strings.Contains(got.out, "South") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	one := gorun("", "run", "-p", "Dorothy", "-n", "30", "--seed", "7")
	two := gorun("", "run", "-p", "Dorothy", "-n", "30", "--seed", "7", "-t", "1")
	if one.code != 0 || one != two {
		t.Errorf("one seed, two texts: %+v and %+v", one, two)
	}
	if got := gorun("", "run", "-p", "", "-n", "5", "--temp", "0"); got.code != 0 || got.out == "" {
		t.Errorf("empty prompt: %+v", got)
	}
}

func TestRunJSON(t *testing.T) {
	got := gorun("", "run", "-p", "Dorothy", "-n", "4", "--temp", "0", "--json")
	var r result
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 {
		t.Fatalf("%v, %+v", err, got)
	}
	if r.Text == "" || len(r.Tokens) != 4 || r.PromptTokens != 1 || r.Finish != "length" {
		t.Errorf("%+v", r)
	}
}

func TestChatOnce(t *testing.T) {
	got := gorun("Tell me about Dorothy", "run", "--chat", "--system", "Be brief.", "--temp", "0", "-n", "12")
	if got.code != 0 || got.out == "" {
		t.Errorf("%+v", got)
	}
}

func TestUsageErrors(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"nonsense"}, exitUsage, "nonsense"},
		{[]string{"run", "--bogus"}, exitUsage, "bogus"},
		{[]string{"run", "-p", "x", "--file", "y"}, exitUsage, "not both"},
		{[]string{"run", "-p", "x", "--kv", "q9_9"}, exitUsage, "q9_9"},
		{[]string{"run", "-p", "x", "--kv", "i32"}, exitUsage, "holds no \"i32\""},
		{[]string{"run", "-p", "x", "--kv-block", "3"}, exitError, "power of two"},
		{[]string{"run", "-p", "x", "--temp", "-1"}, exitUsage, "temperature"},
		{[]string{"run", "-p", "x", "-n", "-1"}, exitUsage, "-1"},
		{[]string{"run", "-p", "x", "--system", "y"}, exitUsage, "--chat"},
		{[]string{"run", "-p", "x", "--memory", "12 MB"}, exitUsage, "KiB"},
		{[]string{"run", "-p", "x", "--memory", "100KiB"}, exitDoesNotFit, "does not fit"},
		{[]string{"run", "-p", "x", "--ctx", "-5"}, exitError, "-5"},
		{[]string{"run", "-p", "x", "--ctx", "4", "--file", ""}, 0, ""},
		{[]string{"run", "no-such.gguf", "-p", "x"}, exitError, "no-such.gguf"},
		{[]string{"run", golden + "phi3.q8_0.gguf", "-p", "x"}, exitError, "no vocabulary"},
		{[]string{"plan", oz, "--memory", "1MiB"}, exitDoesNotFit, "does not fit"},
		{[]string{"tokenize", golden + "phi3.q8_0.gguf", "x"}, exitError, "no vocabulary"},
		{[]string{"detokenize", oz, "-"}, exitError, "JSON array"},
		{[]string{"logits", oz, "--tokens", "-", "--out", filepath.Join(t.TempDir(), "x")}, exitError, "JSON array"},
		{[]string{"inspect", "main.go"}, exitError, "main.go"},
	} {
		if got := gorun("", c.args...); got.code != c.code || !strings.Contains(got.err, c.text) {
			t.Errorf("%v: code %d, want %d with %q:\n%s", c.args, got.code, c.code, c.text, got.err)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, command := range []string{"", "run", "inspect", "plan", "tokenize", "detokenize", "template", "logits", "bench", "perplexity", "selftest", "devices", "version"} {
		args := strings.Fields(command + " --help")
		got := gorun("", args...)
		if got.code != 0 || !strings.Contains(got.out, "Example") || !strings.Contains(got.out, "gorun "+command) {
			t.Errorf("%v: %+v", args, got)
		}
	}
	if got := gorun(""); got.code != 0 || !strings.Contains(got.out, "Usage") {
		t.Errorf("no arguments: %+v", got)
	}
}

func TestTokenize(t *testing.T) {
	got := gorun("", "tokenize", oz, "Dorothy")
	if got.code != 0 || got.out != "[340]\n" {
		t.Errorf("%+v", got)
	}
	for text, back := range map[string]string{"The Tin Woodman\n": "", "snowman ☃, <|im_end|>": "", "": ""} {
		for _, flags := range [][]string{nil, {"--no-special"}, {"--no-bos"}} {
			ids := gorun(text, append([]string{"tokenize", oz}, flags...)...)
			if again := gorun(ids.out, "detokenize", oz, "-"); again.code != 0 || again.out != text {
				t.Errorf("%q %v became %q by %s (%s)", text, flags, again.out, ids.out, back)
			}
		}
	}
	special := gorun("", "tokenize", oz, "<|im_end|>")
	plain := gorun("", "tokenize", oz, "<|im_end|>", "--no-special")
	if special.out != "[511]\n" || special.out == plain.out {
		t.Errorf("%+v, %+v", special, plain)
	}
	if got := gorun("[1, 512]", "detokenize", oz, "-"); got.code != exitError || !strings.Contains(got.err, "512") {
		t.Errorf("%+v", got)
	}
}

func TestLogits(t *testing.T) {
	dir := t.TempDir()
	var first []byte
	for _, chunk := range []string{"0", "1", "7"} {
		out := filepath.Join(dir, chunk)
		got := gorun("", "logits", golden+"qwen3moe-experts.q4_0.gguf", "--tokens", golden+"qwen3moe-experts.q4_0.json", "--out", out, "--reference", "--chunk", chunk)
		if got.code != 0 || got.out != "" {
			t.Fatalf("%+v", got)
		}
		data, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = data
		}
		if !bytes.Equal(data, first) {
			t.Errorf("chunks of %s give other bits", chunk)
		}
	}
	raw, err := os.ReadFile(golden + "qwen3moe-experts.q4_0.logits.f32")
	if err != nil {
		t.Fatal(err)
	}
	got, want := make([]float32, len(first)/4), make([]float32, len(raw)/4)
	tensor.Dequantize(tensor.F32, got, first)
	tensor.Dequantize(tensor.F32, want, raw)
	var diff, sum float64
	for i := range want {
		diff += math.Pow(float64(got[i]-want[i]), 2)
		sum += math.Pow(float64(want[i]), 2)
	}
	if e := diff / sum; !(e < 1e-10) {
		t.Errorf("normalized error %g", e)
	}
}

func TestInspect(t *testing.T) {
	got := gorun("", "inspect", oz, "--json")
	var r inspection
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 {
		t.Fatalf("%v, %+v", err, got)
	}
	if !r.Runs || len(r.Tensors) != 29 || r.Types[0].Type != "q8_0" || r.KV[1] != (kvReport{"f16", 1536, 0}) || len(r.Metadata) != 31 {
		t.Errorf("%+v", r)
	}
	if got := gorun("", "inspect", oz); got.code != 0 || !regexp.MustCompile(`runs +yes`).MatchString(got.out) {
		t.Errorf("%+v", got)
	}

	// A file that cannot run says why.
	w := gguf.NewWriter()
	w.Set("general.architecture", gguf.String("hal9000"))
	path := filepath.Join(t.TempDir(), "hal.gguf")
	if err := w.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	if got := gorun("", "inspect", path); got.code != 0 || !strings.Contains(got.out, `"hal9000" is not supported`) {
		t.Errorf("%+v", got)
	}
}

func TestPlan(t *testing.T) {
	got := gorun("", "plan", oz, "--json", "--ctx", "256", "--memory", "64MiB")
	var r planReport
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 {
		t.Fatalf("%v, %+v", err, got)
	}
	sum := int64(0)
	for _, item := range r.Items {
		sum += item.Bytes
	}
	if !r.Fits || r.Context != 256 || r.PerToken != 1536 || sum != r.Total || r.Available != 64<<20 {
		t.Errorf("%+v", r)
	}
	if got := gorun("", "plan", oz, "--json", "--memory", "1MiB"); got.code != exitDoesNotFit || !strings.Contains(got.out, `"fits": false`) {
		t.Errorf("%+v", got)
	}
}

func TestTemplate(t *testing.T) {
	messages := file(t, `[{"role": "user", "content": "Who is Toto?"}]`)
	const want = "<|im_start|>user\nWho is Toto?<|im_end|>\n"
	if got := gorun("", "template", oz, messages); got.out != want+"<|im_start|>assistant\n" {
		t.Errorf("%+v", got)
	}
	if got := gorun("", "template", oz, messages, "--no-generation-prompt"); got.out != want {
		t.Errorf("%+v", got)
	}
	own := file(t, `{{ tools[0].x }} {{ mood }} {{ messages|length }}`)
	if got := gorun(`[]`, "template", own, "-", "--tools", file(t, `[{"x": 3}]`), "--kwargs", `{"mood": "glad"}`); got.out != "3 glad 0" {
		t.Errorf("%+v", got)
	}
	for _, text := range []string{"{", `{"a": 1}`} {
		if got := gorun(text, "template", oz, "-"); got.code != exitError || got.out != "" {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestVersion(t *testing.T) {
	if got := gorun("", "version"); got.code != 0 || !strings.HasPrefix(got.out, "gorun ") {
		t.Errorf("%+v", got)
	}
	if got := gorun("", "--version"); got.code != 0 || !strings.HasPrefix(got.out, "gorun ") || strings.Count(got.out, "\n") != 1 {
		t.Errorf("%+v", got)
	}
	if got := gorun("", "version", "--json"); got.code != 0 || !json.Valid([]byte(got.out)) {
		t.Errorf("%+v", got)
	}
}

// file makes a file with the given text.
func file(t *testing.T, text string) string {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

func TestPerplexity(t *testing.T) {
	text := file(t, strings.Repeat("Dorothy lived in the midst of the great Kansas prairies, with Uncle Henry. ", 8))
	base := filepath.Join(t.TempDir(), "base")
	args := []string{"perplexity", oz, "--file", text, "-c", "64", "--json", "--kl-base", base}
	read := func(o outcome) (r perplexityReport) {
		if err := json.Unmarshal([]byte(o.out), &r); err != nil || o.code != 0 {
			t.Fatalf("%v, %+v", err, o)
		}
		return r
	}
	first := read(gorun("", args...))
	if !(first.Perplexity > 1 && first.Perplexity < 512) || first.KL != nil || first.Chunks < 2 || first.Predictions != 31*first.Chunks {
		t.Errorf("%+v", first)
	}
	again := read(gorun("", append(args, "--kl", "--kv-block", "8", "-t", "1")...))
	// The same bits; a base file does not tell how unlikely unlikely tokens are.
	if again.KL == nil || again.KL.MeanKL > 2e-4 || again.KL.Top1 != 1 || again.Perplexity != first.Perplexity {
		t.Errorf("%+v, %+v", again, again.KL)
	}
	if got := gorun("", "perplexity", oz, "--kl-base", base, "--kl"); got.code != 0 || !strings.Contains(got.out, "same top token") {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"perplexity", oz}, exitUsage, "--file"},
		{[]string{"perplexity", oz, "--kl"}, exitUsage, "--kl-base"},
		{[]string{"perplexity", oz, "--kl", "--kl-base", text}, exitError, "_logits_"},
		{[]string{"perplexity", oz, "--file", file(t, "too short")}, exitError, "less than one chunk"},
		{[]string{"perplexity", oz, "--file", text, "-c", "2"}, exitUsage, "at least 4"},
	} {
		if got := gorun("", c.args...); got.code != c.code || !strings.Contains(got.err, c.text) {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
}

func TestBench(t *testing.T) {
	got := gorun("", "bench", oz, "-p", "16", "-n", "4", "-d", "0,32", "-r", "2", "--json")
	var r []benchResult
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 {
		t.Fatalf("%v, %+v", err, got)
	}
	var names []string
	for _, b := range r {
		names = append(names, b.Test)
		if !(b.Speed.Min > 0 && b.Speed.Min <= b.Speed.Median && b.Speed.Median <= b.Speed.Max && len(b.Speed.Values) == 2) {
			t.Errorf("%+v", b)
		}
		if strings.HasPrefix(b.Test, "tg") && (b.Machine.ReadBytesPerSecond <= 0 || b.OfBandwidth == nil || b.OfBandwidth.Median <= 0) {
			t.Errorf("no share of bandwidth: %+v", b)
		}
		if strings.HasPrefix(b.Test, "pp") && (b.OfPeak != nil) != (b.Machine.FlopsPerSecond > 0) {
			t.Errorf("a peak without a share of it, or the opposite: %+v", b)
		}
	}
	if want := "pp16 tg4 pp16@d32 tg4@d32"; strings.Join(names, " ") != want {
		t.Errorf("tests %v, want %s", names, want)
	}
	// 1900544 weights of q8_0, all read for a token, and 1536 bytes of KV for
	// each position up to it.
	if b := r[1].BytesPerToken; b != 1900544/32*34+3*1536 {
		t.Errorf("%v bytes a token", b)
	}
	// A recurrent layer cannot go back: what is in the cache is computed again.
	if got := gorun("", "bench", golden+"qwen35.q8_0.gguf", "-p", "4", "-n", "4", "-d", "32", "-r", "2"); got.code != 0 || !strings.Contains(got.out, "tg4@d32") {
		t.Errorf("%+v", got)
	}
	if got := gorun("", "bench", oz, "-p", "-4"); got.code != exitUsage {
		t.Errorf("%+v", got)
	}
	if got := gorun("", "bench", oz, "-p", "8", "-n", "0", "-r", "1"); got.code != 0 || !strings.Contains(got.out, "pp8") {
		t.Errorf("%+v", got)
	}
}

func TestBenchDisk(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // where the result is kept
	dir := t.TempDir()
	got := gorun("", "bench", "--disk", dir, "--disk-size", "8MiB", "-r", "1", "--json")
	var r []diskResult
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 || len(r) != 5 {
		t.Fatalf("%v, %+v", err, got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if got := gorun("", "bench", "--disk", filepath.Join(dir, "no-such-dir")); got.code != exitError {
		t.Errorf("%+v", got)
	}
}

func TestSelftest(t *testing.T) {
	got := gorun("", "selftest", "--json")
	var r []selftestReport
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 || len(r) == 0 {
		t.Fatalf("%v, %+v", err, got)
	}
	used := 0
	for _, k := range r {
		if k.Error != "" {
			t.Errorf("%+v", k)
		}
		if k.Used {
			used++
		}
	}
	if used != 1 {
		t.Errorf("%d sets are used: %+v", used, r)
	}
	if got := gorun("", "selftest"); got.code != 0 || !strings.Contains(got.out, "generic\tok") {
		t.Errorf("%+v", got)
	}
}
