package chat

import (
	"context"
	"strings"

	"gorun/model/chat/jinja"
)

// traits are what a template can do with content that is not a string.
type traits struct {
	takesParts bool // a list of parts
	takesNull  bool // null beside tool calls
}

// mark is a text that no template has of itself.
const mark = "zq7needle"

// probe finds out by rendering short conversations.
func probe(t *jinja.Template) traits {
	parts, ok := tryRender(t, `[{"role":"user","content":[{"type":"text","text":"`+mark+`"}]}]`)
	takesParts := ok && strings.Contains(parts, mark) &&
		!strings.Contains(parts, "'text'") && !strings.Contains(parts, `"text"`)

	null, ok := tryRender(t, `[{"role":"user","content":"`+mark+`"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"abcdefghi","type":"function",
			"function":{"name":"f","arguments":{"x":1}}}]},
		{"role":"tool","tool_call_id":"abcdefghi","name":"f","content":"1"}]`)
	return traits{takesParts: takesParts, takesNull: ok && !strings.Contains(null, "None") && !strings.Contains(null, "null")}
}

func tryRender(t *jinja.Template, messages string) (string, bool) {
	conv, err := readMessages([]byte(messages))
	if err != nil {
		return "", false
	}
	vars, err := variables(Input{AddGenerationPrompt: true})
	if err != nil {
		return "", false
	}
	vars.Set("messages", conv.list)
	text, err := t.Render(context.Background(), vars, jinja.Options{Limits: probeLimits})
	return text, err == nil
}

var probeLimits = jinja.Limits{Output: 1 << 20, Size: 1 << 20, Steps: 1_000_000, Memory: 64 << 20}
