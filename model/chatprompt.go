package model

import (
	"context"

	"gorun/model/chat"
	"gorun/model/tokenizer"
)

// ChatTemplate is the chat template of the model's file. Without one it is
// ChatML and own is false.
func (m *Model) ChatTemplate() (t *chat.Template, own bool, err error) {
	source, own, err := m.file.Metadata().String("tokenizer.chat_template")
	if err != nil {
		return nil, false, err
	}
	if !own {
		source = chat.ChatML
	}
	t, err = chat.Parse(source)
	return t, own, err
}

// ChatPrompt renders a conversation and makes tokens of it. BOS and EOS of in
// are filled in.
func (m *Model) ChatPrompt(ctx context.Context, t *chat.Template, in chat.Input) ([]int32, error) {
	tok, err := m.Tokenizer()
	if err != nil {
		return nil, err
	}
	in.BOS, in.EOS = SpecialTexts(tok)
	text, err := t.Render(ctx, in)
	if err != nil {
		return nil, err
	}
	ids, err := tok.Encode(text, tokenizer.Options{ParseSpecial: true})
	if err != nil {
		return nil, err
	}
	// Most templates write the BOS token themselves.
	if bos, ok := tok.BOS(); ok && tok.AddBOS() && (len(ids) == 0 || ids[0] != bos) {
		ids = append([]int32{bos}, ids...)
	}
	return ids, nil
}

// SpecialTexts is how templates spell the tokens that begin and end a text;
// empty for those that the vocabulary lacks.
func SpecialTexts(tok *tokenizer.Tokenizer) (bos, eos string) {
	if id, ok := tok.BOS(); ok {
		bos = tok.Text(id)
	}
	if id, ok := tok.EOS(); ok {
		eos = tok.Text(id)
	}
	return bos, eos
}
