package chat

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// referenceDir holds templates of real models with what Python's Jinja2 renders
// for them. They are other people's work and not part of the project.
const referenceDir = "../../../shared/data/templates"

type reference struct {
	Plain     json.RawMessage `json:"plain"`
	WithTools json.RawMessage `json:"with_tools"`
	Tools     json.RawMessage `json:"tools"`
	BOS       string          `json:"bos_token"`
	EOS       string          `json:"eos_token"`
	Generate  bool            `json:"add_generation_prompt"`
	Now       string          `json:"now"`
}

func readReference(t *testing.T) (reference, []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(referenceDir, "conversation.json"))
	if err != nil {
		t.Skipf("reference templates are absent: %v", err)
	}
	var ref reference
	if err := json.Unmarshal(data, &ref); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(referenceDir, "*.jinja"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	return ref, files
}

func (ref reference) input(t *testing.T, kind string) Input {
	t.Helper()
	now, err := time.Parse("2006-01-02T15:04:05", ref.Now)
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Messages: ref.Plain, AddGenerationPrompt: ref.Generate, BOS: ref.BOS, EOS: ref.EOS, Now: func() time.Time { return now }}
	if kind == "tools" {
		in.Messages, in.Tools = ref.WithTools, ref.Tools
	}
	return in
}

type expectation struct {
	Text  *string `json:"text"`
	Error string  `json:"error"`
}

func readExpectations(t *testing.T, template string) map[string]expectation {
	t.Helper()
	data, err := os.ReadFile(strings.TrimSuffix(template, ".jinja") + ".expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]expectation
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func parseFile(t *testing.T, file string) *Template {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := Parse(string(source))
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

func TestReferenceTemplates(t *testing.T) {
	ref, files := readReference(t)
	cases, exact := 0, 0
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want := readExpectations(t, file)
			cases += len(want)
			tmpl := parseFile(t, file)
			for kind, w := range want {
				got, err := tmpl.Render(t.Context(), ref.input(t, kind))
				switch {
				case w.Text == nil && (err == nil || !strings.HasSuffix(strings.ToLower(err.Error()), strings.ToLower(w.Error))):
					t.Errorf("%s: error %v, want %q", kind, err, w.Error)
				case w.Text != nil && err != nil:
					t.Errorf("%s: %v", kind, err)
				case w.Text != nil && got != *w.Text:
					t.Errorf("%s: got\n%q\nwant\n%q", kind, got, *w.Text)
				default:
					exact++
				}
			}
		})
	}
	t.Logf("%d of %d renderings of %d templates exact", exact, cases, len(files))
}

// TestArgumentsAsText gives the arguments of tool calls as JSON text, which is
// how the OpenAI form has them.
func TestArgumentsAsText(t *testing.T) {
	ref, files := readReference(t)
	object := argumentsAsText(t, ref.WithTools)
	for _, file := range files {
		want := readExpectations(t, file)["tools"]
		if want.Text == nil {
			continue
		}
		in := ref.input(t, "tools")
		in.Messages = object
		got, err := parseFile(t, file).Render(t.Context(), in)
		if err != nil || got != *want.Text {
			t.Errorf("%s: %v, got\n%q\nwant\n%q", filepath.Base(file), err, got, *want.Text)
		}
	}
}

// argumentsAsText turns the one arguments object of the conversation into a
// string that holds it.
func argumentsAsText(t *testing.T, messages json.RawMessage) json.RawMessage {
	t.Helper()
	key := []byte(`"arguments": `)
	i := bytes.Index(messages, key)
	if i < 0 {
		t.Fatal("no arguments in the conversation")
	}
	i += len(key)
	var object json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(messages[i:])).Decode(&object); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(string(object))
	if err != nil {
		t.Fatal(err)
	}
	return append(append(bytes.Clone(messages[:i]), text...), messages[i+len(object):]...)
}
