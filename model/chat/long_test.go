package chat

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"gorun/model/chat/jinja"
)

// TestLongConversation: no real template meets a limit with 2 MB in 1400
// messages.
func TestLongConversation(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	_, files := readReference(t)
	messages := []Message{{Role: "user", Content: "hi"}}
	for range 700 {
		messages = append(messages,
			Message{Role: "assistant", ToolCalls: []ToolCall{{ID: "abcdefghi", Type: "function",
				Function: FunctionCall{Name: "f", Arguments: `{"a": "` + strings.Repeat("x", 1000) + `"}`}}}},
			Message{Role: "tool", ToolCallID: "abcdefghi", Name: "f", Content: strings.Repeat("y ", 1000)})
	}
	data, err := Encode(append(messages, Message{Role: "user", Content: "go on"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		_, err := parseFile(t, file).Render(t.Context(), Input{Messages: json.RawMessage(data), AddGenerationPrompt: true})
		if errors.Is(err, jinja.ErrLimit) {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
	}
}
