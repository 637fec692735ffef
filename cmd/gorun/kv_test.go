package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSessionGoesOn continues a text in several runs of the program, as it
// were, and wants the text of a single one.
func TestSessionGoesOn(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	run := func(text string, n string) (r result) {
		t.Helper()
		got := gorun("", "run", "--session", "tale", "-p", text, "-n", n, "--temp", "0", "--json", "--kv-block", "4")
		if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 {
			t.Fatalf("%v, %+v", err, got)
		}
		return r
	}
	first := run("Dorothy", "20")
	if first.CachedTokens != 0 {
		t.Errorf("%d tokens of a new text were known", first.CachedTokens)
	}
	more := run(" said", "20")
	if known := more.PromptTokens - more.CachedTokens; known > 4 {
		t.Errorf("%d of %d tokens were computed again", known, more.PromptTokens)
	}
	got := gorun("", "kv", "show", "tale")
	want := "Dorothy" + first.Text + " said" + more.Text
	if got.code != 0 || !strings.Contains(got.out, want) {
		t.Errorf("%+v, want %q", got, want)
	}
	// The whole text at once gives the same next token.
	plain := gorun("", "run", "-p", "Dorothy"+first.Text+" said", "-n", "20", "--temp", "0")
	if plain.out != more.Text {
		t.Errorf("%q, without a session %q", more.Text, plain.out)
	}
	var l kvListing
	if got := gorun("", "kv", "ls", "--json"); json.Unmarshal([]byte(got.out), &l) != nil || len(l.Sessions) != 1 || l.Sessions[0].Name != "tale" || len(l.Sets) != 1 || l.Sets[0].Tokens == 0 {
		t.Errorf("%+v", got)
	}
	if got := gorun("", "kv", "ls"); got.code != 0 || !strings.Contains(got.out, `"tale"`) {
		t.Errorf("%+v", got)
	}
	if got := gorun("", "kv", "check"); got.code != 0 || !strings.Contains(got.out, "0 lost, 0 damaged") {
		t.Errorf("%+v", got)
	}
	if got := gorun("", "kv", "prune", "--session", "tale"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	if got := gorun("", "kv", "show", "tale"); got.code != exitError || !strings.Contains(got.err, `no session "tale"`) {
		t.Errorf("%+v", got)
	}
	if got := gorun("", "kv", "prune", "--all", "--json"); got.code != 0 || !strings.Contains(got.out, "freed_bytes") {
		t.Errorf("%+v", got)
	}
	l = kvListing{}
	if got := gorun("", "kv", "ls", "--json"); json.Unmarshal([]byte(got.out), &l) != nil || l.Sets[0].Blocks != 0 || l.Sets[0].Snapshots != 0 {
		t.Errorf("%+v", got)
	}
}

func TestSessionOfAChat(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	say := func(text string) outcome {
		return gorun("", "run", "--session", "chat", "--chat", "-p", text, "-n", "8", "--temp", "0")
	}
	for _, text := range []string{"Who are you?", "And where?"} {
		if got := say(text); got.code != 0 || got.out == "" {
			t.Fatalf("%+v", got)
		}
	}
	got := gorun("", "kv", "show", "chat")
	for _, want := range []string{"user: Who are you?", "assistant: ", "user: And where?"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in %+v", want, got)
		}
	}
	if got := gorun("", "run", "--session", "chat", "-p", "x", "-n", "1"); got.code != exitUsage || !strings.Contains(got.err, "is a chat") {
		t.Errorf("%+v", got)
	}
}

// TestSessionFailures has directories that are of no use. What is damaged is
// an error, and the text is never wrong.
func TestSessionFailures(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_STATE_HOME", home)
	run := func() outcome {
		return gorun("", "run", "--session", "tale", "-p", "Dorothy", "-n", "2", "--temp", "0")
	}
	want := run()
	if want.code != 0 {
		t.Fatalf("%+v", want)
	}
	dir := filepath.Join(home, "gorun", "kv")
	mode := func(m os.FileMode) {
		if err := os.Chmod(dir, m); err != nil {
			t.Fatal(err)
		}
	}
	mode(0o755)
	if got := run(); got.code != exitError || !strings.Contains(got.err, "accessed by others") {
		t.Errorf("open to others: %+v", got)
	}
	mode(0o700)
	if err := os.Rename(dir, dir+"2"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir+"2", dir); err != nil {
		t.Fatal(err)
	}
	if got := run(); got.code != exitError || !strings.Contains(got.err, "symbolic link") {
		t.Errorf("a link: %+v", got)
	}
	for name, args := range map[string][]string{
		"add up to":     {"run", "-p", "x", "--kv-tiered", "25,25,25", "--kv-cold", "x"},
		"three":         {"run", "-p", "x", "--kv-tiered", "50,50"},
		"needs --kv-co": {"run", "-p", "x", "--kv-tiered", "25,25,50"},
		"not both":      {"run", "-p", "x", "--kv-tiered", "50,50,0", "--kv-hot", "1MiB"},
		"there is ram":  {"run", "-p", "x", "--kv-warm", "gpu1:1MiB"},
		"--kv-warm 1Mi": {"run", "-p", "x", "--kv-warm", "1MiB:ram"},
		"--kv-cold kv:": {"run", "-p", "x", "--kv-cold", "kv:1GX"},
		"holds no bloc": {"run", "-p", "x", "--kv-hot", "1KiB"},
		"give a cold o": {"run", "-p", "x", "--kv-block", "4", "--kv-hot", "200KiB"},
		"say what":      {"kv", "prune"},
		"nothing is re": {"kv", "ls", "--dir", home + "/none"},
	} {
		if got := gorun("", args...); got.code == 0 || !strings.Contains(got.err, strings.TrimSpace(name)) {
			t.Errorf("%v: %+v, want %q", args, got, name)
		}
	}
}

func TestPlanOfTiers(t *testing.T) {
	got := gorun("", "plan", "--ctx", "512", "--kv-block", "4", "--kv-tiered", "25,25,50", "--kv-cold", "/nowhere:1GiB", "--json")
	var r planReport
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 {
		t.Fatalf("%v, %+v", err, got)
	}
	bytes := map[string]int64{}
	for _, item := range r.Items {
		bytes[item.Name] = item.Bytes
	}
	all := r.Geometry.BlockBytes * 128
	if bytes["kv"] != all/4 || bytes["kv warm"] != all/4 || bytes["kv ring"] == 0 || r.Geometry.ColdBytes != 1<<30 || len(r.Geometry.Layers) != 1 {
		t.Errorf("%+v", r)
	}
	if got := gorun("", "plan", "--kv", "turbo4"); !strings.Contains(got.out, "B a token are padding") {
		t.Errorf("%+v", got)
	}
}

func TestQualityOfKVTypes(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("Dorothy lived in the midst of the great Kansas prairies, with Uncle Henry, who was a farmer. ", 12)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"perplexity", "--file", text, "-c", "128", "--kv", "all", "--json"},
		{"bench", "-n", "2", "-d", "8", "-r", "1", "--kv", "all", "--json"},
	} {
		got := gorun("", args...)
		var list []kvQuality
		if err := json.Unmarshal([]byte(got.out), &list); err != nil || got.code != 0 || len(list) != len(kvTypes()) {
			t.Fatalf("%v, %+v", err, got)
		}
		for i, q := range list {
			if q.PerToken <= 0 || args[0] == "perplexity" && (q.Perplexity <= 1 || i > 0 && (q.Increase > 0.5 || q.Increase < -0.05)) || args[0] == "bench" && (q.TokensPerSecond <= 0 || q.Cosine < 0.93) {
				t.Errorf("%+v", q)
			}
		}
		if got := gorun("", args[:len(args)-1]...); got.code != 0 || !strings.Contains(got.out, "turbo2") {
			t.Errorf("%+v", got)
		}
	}
}
