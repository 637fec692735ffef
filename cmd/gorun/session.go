package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"gorun/kvtier/store"
	"gorun/model"
	"gorun/model/chat"
	"gorun/model/tokenizer"
)

// remembered is a conversation that has a name.
type remembered struct {
	m    *model.Model
	name string // "": it has none
	text sessionText
	ids  []int32 // of a text that is no chat
}

// sessionText is what a session keeps beside its tokens.
type sessionText struct {
	Chat     bool           `json:"chat"`
	Model    string         `json:"model"` // fingerprint
	Text     string         `json:"text,omitempty"`
	Messages []chat.Message `json:"messages,omitempty"`
}

// openSession finds a conversation, or begins it.
func openSession(m *model.Model, name string, chat bool) (*remembered, error) {
	r := &remembered{m: m, name: name, text: sessionText{Chat: chat}}
	if name == "" {
		return r, nil
	}
	print, err := model.Fingerprint(m.File())
	if err != nil {
		return nil, err
	}
	r.text.Model = print
	session, err := m.Store().LoadSession("", name)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := readSessionText(session)
	if err != nil {
		return nil, err
	}
	switch {
	case text.Chat != chat && text.Chat:
		return nil, usagef("session %q is a chat: go on with --chat, or choose another name", name)
	case text.Chat != chat:
		return nil, usagef("session %q is a text, not a chat: go on with --no-chat, or choose another name", name)
	case !chat && text.Model != print:
		return nil, fmt.Errorf("session %q was begun with another model, %s: its tokens mean nothing to this one", name, session.Model)
	}
	r.ids = session.Tokens
	r.text.Text, r.text.Messages = text.Text, text.Messages
	return r, nil
}

func readSessionText(session store.Session) (text sessionText, err error) {
	if err := json.Unmarshal(session.Text, &text); err != nil {
		return text, fmt.Errorf("session %q: %w", session.Name, err)
	}
	return text, nil
}

// prompt is the whole text with more at its end.
func (r *remembered) prompt(more string) ([]int32, error) {
	if len(r.ids) == 0 {
		return r.m.Prompt(more)
	}
	tok, err := r.m.Tokenizer()
	if err != nil {
		return nil, err
	}
	ids, err := tok.Encode(more, tokenizer.Options{ParseSpecial: true})
	if err != nil {
		return nil, err
	}
	return append(r.ids[:len(r.ids):len(r.ids)], ids...), nil
}

// wrote keeps what was added to a text.
func (r *remembered) wrote(prompt []int32, more string, answer result) error {
	tok, err := r.m.Tokenizer()
	if err != nil {
		return err
	}
	r.ids = append(prompt[:len(prompt):len(prompt)], answer.Tokens...)
	if n := len(r.ids); n > len(prompt) && tok.IsEOG(r.ids[n-1]) {
		r.ids = r.ids[:n-1] // the text goes on before its end
	}
	r.text.Text += more + answer.Text
	return r.save()
}

// said keeps the messages of a chat.
func (r *remembered) said(messages []chat.Message) error {
	r.text.Messages = messages
	return r.save()
}

func (r *remembered) save() error {
	if r.name == "" {
		return nil
	}
	text, err := json.Marshal(r.text)
	if err != nil {
		return err
	}
	return r.m.Store().SaveSession("", store.Session{
		Name: r.name, Model: r.m.Name(), Saved: time.Now(), Tokens: r.ids, Text: text,
	})
}
