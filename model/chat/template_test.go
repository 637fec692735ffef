package chat

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"gorun/model/chat/jinja"
)

func renderInput(t *testing.T, source string, in Input) (string, error) {
	t.Helper()
	tmpl, err := Parse(source)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl.Render(t.Context(), in)
}

func TestVariables(t *testing.T) {
	const user = `[{"role": "user", "content": "hi", "zeta": 1, "alpha": {"b": 1, "a": 2}}]`
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		source string
		in     Input
		want   string
	}{
		{"{{ messages|tojson }}", Input{}, user}, // order and unknown fields are kept
		{"{{ tools is defined }}{{ documents is defined }}", Input{}, "FalseFalse"},
		{"{{ tools is defined }}", Input{Tools: json.RawMessage(" [] ")}, "False"},
		{"{{ tools is defined }}", Input{Tools: json.RawMessage("null")}, "False"},
		{"{{ tools|tojson }}", Input{Tools: json.RawMessage(`[{"z": 1, "a": 2}]`)}, `[{"z": 1, "a": 2}]`},
		{"{{ bos_token + eos_token }}", Input{BOS: "<s>", EOS: "</s>"}, "<s></s>"},
		{"[{{ bos_token + eos_token }}]", Input{}, "[]"},
		{"{{ add_generation_prompt }}", Input{AddGenerationPrompt: true}, "True"},
		{"{{ enable_thinking }}{{ effort|upper }}", Input{Extra: json.RawMessage(`{"enable_thinking": false, "effort": "low"}`)}, "FalseLOW"},
		{"{{ bos_token }}", Input{BOS: "a", Extra: json.RawMessage(`{"bos_token": "b"}`)}, "b"},
		{"{{ strftime_now('%Y-%m-%d') }}", Input{Now: func() time.Time { return now }}, "2026-01-02"},
	} {
		c.in.Messages = json.RawMessage(user)
		got, err := renderInput(t, c.source, c.in)
		if err != nil || got != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.source, got, err, c.want)
		}
	}
}

func TestInputErrors(t *testing.T) {
	for _, c := range []struct {
		in   Input
		want string
	}{
		{Input{Messages: json.RawMessage(`[`)}, "messages: JSON at byte"},
		{Input{Messages: json.RawMessage(`{}`)}, "messages must be an array"},
		{Input{Messages: json.RawMessage(`[1]`)}, "messages[0] must be an object"},
		{Input{Messages: json.RawMessage(`[{"content": "a"}]`)}, "messages[0].role must be a string"},
		{Input{Messages: json.RawMessage(`[{"role": "a", "tool_calls": 1}]`)}, "messages[0].tool_calls must be an array"},
		{Input{Messages: json.RawMessage(`[{"role": "a", "tool_calls": [1]}]`)}, "messages[0].tool_calls[0]: a tool call must be an object"},
		{Input{Messages: json.RawMessage(`[{"role": "a", "tool_calls": [{"function": {"arguments": "{"}}]}]`)}, "messages[0].tool_calls[0]: arguments: JSON at byte"},
		{Input{Messages: json.RawMessage(`[{"role": "a", "tool_calls": [{"function": {"arguments": "[]"}}]}]`)}, "arguments must be a JSON object"},
		{Input{Messages: json.RawMessage(`[{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]`)}, "messages[0].content: part 0 of type image_url"},
		{Input{Messages: json.RawMessage(`[]`), Tools: json.RawMessage(`{}`)}, "tools must be an array"},
		{Input{Messages: json.RawMessage(`[]`), Extra: json.RawMessage(`[]`)}, "chat_template_kwargs must be an object"},
		{Input{Messages: json.RawMessage(`[]`), Extra: json.RawMessage(`{"messages": []}`)}, `chat_template_kwargs cannot set "messages"`},
		{Input{Messages: json.RawMessage(`[] []`)}, "text after the value"},
		{Input{Messages: json.RawMessage(strings.Repeat("[", 5000))}, "nested more than"},
	} {
		_, err := renderInput(t, "{% for m in messages %}{{ m.content }}{% endfor %}", c.in)
		var in *InputError
		if !errors.As(err, &in) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s: got %v, want %s", c.in.Messages, err, c.want)
		}
	}
}

func TestTemplateErrors(t *testing.T) {
	_, err := renderInput(t, "\n{{ raise_exception('no system role') }}", Input{Messages: json.RawMessage(`[]`)})
	var e *jinja.Error
	if !errors.As(err, &e) || !e.Raised || e.Message != "no system role" || e.Line != 2 {
		t.Errorf("got %#v", err)
	}
	if _, err := Parse("{% if %}"); !errors.As(err, &e) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tmpl, err := Parse("{% for a in range(99999) %}{% endfor %}")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tmpl.Render(ctx, Input{Messages: json.RawMessage(`[]`)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	_, err = renderInput(t, "abc", Input{Messages: json.RawMessage(`[]`), Limits: jinja.Limits{Output: 2}})
	if !errors.Is(err, jinja.ErrLimit) {
		t.Errorf("got %v", err)
	}
}

// TestToolArguments: a mapping for templates that want one, the text for those
// that append it to a string.
func TestToolArguments(t *testing.T) {
	const call = `[{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{\"z\":1, \"a\":[2]}"}}]}]`
	const empty = `[{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": ""}}]}]`
	const bare = `[{"role": "assistant", "tool_calls": [{"name": "f", "arguments": "{\"z\":1}"}]}]`
	const args = "messages[0].tool_calls[0].function.arguments"
	for _, c := range []struct{ source, messages, want string }{
		{"{{ " + args + "|tojson }}", call, `{"z": 1, "a": [2]}`},
		{"{% for k, v in " + args + "|items %}{{ k }}={{ v }} {% endfor %}", call, "z=1 a=[2] "},
		{"{{ 'f' + " + args + " }}", call, `f{"z":1, "a":[2]}`},
		{"{{ " + args + " is mapping }}{{ " + args + "|length }}", empty, "True0"},
		{"{{ messages[0].tool_calls[0].arguments.z }}", bare, "1"},
	} {
		got, err := renderInput(t, c.source, Input{Messages: json.RawMessage(c.messages)})
		if err != nil || got != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.source, got, err, c.want)
		}
	}
	// An error that the text does not cure is the first one.
	_, err := renderInput(t, "{{ 1 + "+args+" }}", Input{Messages: json.RawMessage(call)})
	if err == nil || !strings.Contains(err.Error(), "'int' and 'dict'") {
		t.Errorf("got %v", err)
	}
}

func TestContentForms(t *testing.T) {
	const plain = "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}"
	const parts = "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}<{{ p.type }}>{{ p.text }}{% endfor %}{% endif %}{% endfor %}"
	const null = "{% for m in messages %}{{ m.role }}{% if m.content is not none %}={{ m.content }}{% endif %};{% endfor %}"
	const twoParts = `[{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]`
	const noContent = `[{"role": "assistant", "content": null, "tool_calls": []}]`
	for _, c := range []struct{ source, messages, want string }{
		{plain, twoParts, "user:a\nb;"},
		{parts, twoParts, "<text>a<text>b"},
		{parts, `[{"role": "user", "content": [{"type": "image"}]}]`, "<image>"},
		{plain, noContent, "assistant:;"},
		{null, noContent, "assistant;"},
		{"{{ messages[0].content is defined }}", `[{"role": "assistant"}]`, "False"},
		{"{{ messages[0].tool_calls is defined }}", `[{"role": "a", "tool_calls": null}]`, "False"},
		{"{{ messages[0].tool_calls is defined }}", `[{"role": "a", "tool_calls": []}]`, "False"},
	} {
		got, err := renderInput(t, c.source, Input{Messages: json.RawMessage(c.messages)})
		if err != nil || got != c.want {
			t.Errorf("%s of %s: got %q, %v; want %q", c.source, c.messages, got, err, c.want)
		}
	}
}

func TestChatML(t *testing.T) {
	messages, err := Encode([]Message{{Role: "system", Content: "S <&>"}, {Role: "user", Content: "U\n"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := renderInput(t, ChatML, Input{Messages: messages, AddGenerationPrompt: true})
	const want = "<|im_start|>system\nS <&><|im_end|>\n<|im_start|>user\nU\n<|im_end|>\n<|im_start|>assistant\n"
	if err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestEncode(t *testing.T) {
	got, err := Encode([]Message{
		{Role: "assistant", ToolCalls: []ToolCall{{ID: "1", Type: "function", Function: FunctionCall{Name: "f", Arguments: `{"a":1}`}}}},
		{Role: "tool", Content: "<x>", ToolCallID: "1"},
	})
	const want = `[{"role":"assistant","content":"","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","content":"<x>","tool_call_id":"1"}]`
	if err != nil || strings.TrimSpace(string(got)) != want {
		t.Errorf("got %s, %v", got, err)
	}
	if none, err := Encode(nil); err != nil || strings.TrimSpace(string(none)) != "[]" {
		t.Errorf("got %s, %v", none, err)
	}
}
