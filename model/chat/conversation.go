package chat

import (
	"encoding/json"
	"strings"

	"gorun/model/chat/jinja"
)

// conversation is the messages as a template sees them. Its dicts are its own.
type conversation struct {
	list            *jinja.List
	parsedArguments bool // some arguments were text and have been parsed
}

// readMessages decodes messages and parses the arguments of tool calls.
func readMessages(data json.RawMessage) (*conversation, error) {
	conv, err := readRaw(data)
	if err != nil {
		return nil, err
	}
	for i, m := range conv.list.Items {
		calls, _ := m.(*jinja.Dict).Get("tool_calls")
		if calls == nil {
			continue
		}
		list, ok := calls.(*jinja.List)
		if !ok {
			return nil, inputErrorf("messages[%d].tool_calls must be an array", i)
		}
		for j, c := range list.Items {
			parsed, err := parseArguments(c)
			if err != nil {
				return nil, inputErrorf("messages[%d].tool_calls[%d]: %v", i, j, err)
			}
			conv.parsedArguments = conv.parsedArguments || parsed
		}
	}
	return conv, nil
}

// readRaw decodes messages, leaving the arguments of tool calls as they are.
func readRaw(data json.RawMessage) (*conversation, error) {
	v, err := jinja.DecodeJSON(data)
	if err != nil {
		return nil, inputErrorf("messages: %v", err)
	}
	list, ok := v.(*jinja.List)
	if !ok {
		return nil, inputErrorf("messages must be an array")
	}
	for i, m := range list.Items {
		message, ok := m.(*jinja.Dict)
		if !ok {
			return nil, inputErrorf("messages[%d] must be an object", i)
		}
		if role, _ := message.Get("role"); !isString(role) {
			return nil, inputErrorf("messages[%d].role must be a string", i)
		}
		list.Items[i] = withoutEmptyCalls(message)
	}
	return &conversation{list: list}, nil
}

func isString(v jinja.Value) bool {
	_, ok := v.(string)
	return ok
}

// withoutEmptyCalls drops tool_calls that says there are none.
func withoutEmptyCalls(message *jinja.Dict) *jinja.Dict {
	calls, ok := message.Get("tool_calls")
	list, isList := calls.(*jinja.List)
	if !ok || calls != nil && !(isList && len(list.Items) == 0) {
		return message
	}
	out := jinja.NewDict()
	for _, k := range message.Keys() {
		if k != "tool_calls" {
			v, _ := message.Get(k)
			out.Set(k, v)
		}
	}
	return out
}

// parseArguments parses the arguments of one tool call if they are text.
func parseArguments(call jinja.Value) (parsed bool, err error) {
	c, ok := call.(*jinja.Dict)
	if !ok {
		return false, inputErrorf("a tool call must be an object")
	}
	if inner, ok := c.Get("function"); ok {
		if c, ok = inner.(*jinja.Dict); !ok {
			return false, inputErrorf("function must be an object")
		}
	}
	v, _ := c.Get("arguments")
	text, ok := v.(string)
	if !ok {
		return false, nil
	}
	if strings.TrimSpace(text) == "" {
		text = "{}"
	}
	v, err = jinja.DecodeJSON([]byte(text))
	if err != nil {
		return false, inputErrorf("arguments: %v", err)
	}
	if _, ok := v.(*jinja.Dict); !ok {
		return false, inputErrorf("arguments must be a JSON object")
	}
	c.Set("arguments", v)
	return true, nil
}

// adapt changes content that the template cannot take: see the package
// comment.
func (t *Template) adapt(conv *conversation) error {
	for i, m := range conv.list.Items {
		message := m.(*jinja.Dict)
		content, ok := message.Get("content")
		if !ok {
			continue
		}
		switch content := content.(type) {
		case nil:
			if !t.traits().takesNull {
				message.Set("content", "")
			}
		case *jinja.List:
			if t.traits().takesParts {
				continue
			}
			text, err := joinParts(content)
			if err != nil {
				return inputErrorf("messages[%d].content: %v", i, err)
			}
			message.Set("content", text)
		}
	}
	return nil
}

// joinParts makes one text of content parts.
func joinParts(parts *jinja.List) (string, error) {
	var texts []string
	for i, p := range parts.Items {
		if text, ok := p.(string); ok {
			texts = append(texts, text)
			continue
		}
		part, ok := p.(*jinja.Dict)
		if !ok {
			return "", inputErrorf("part %d must be an object", i)
		}
		text, _ := part.Get("text")
		t, ok := text.(string)
		if !ok {
			kind, _ := part.Get("type")
			return "", inputErrorf("part %d of type %v: the model's chat template takes text only", i, kind)
		}
		texts = append(texts, t)
	}
	return strings.Join(texts, "\n"), nil
}
