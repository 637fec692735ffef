package tokenizer

import "unicode/utf8"

// DecodeOptions say what Decode leaves out.
type DecodeOptions struct {
	// SkipSpecial leaves out control and unknown tokens.
	SkipSpecial bool
	// TrimStart leaves out the space that Encode put before the text, of
	// models that do so. It is for ids that begin a text; ids that continue
	// one keep their space.
	TrimStart bool
}

// Decode returns the text of ids. An id that is not in the vocabulary gives
// U+FFFD.
func (t *Tokenizer) Decode(ids []int32, o DecodeOptions) []byte {
	var out []byte
	for _, id := range ids {
		out = append(out, t.piece(id, &o)...)
	}
	return out
}

// piece returns what id adds to a text. It takes back o.TrimStart when there
// is text.
func (t *Tokenizer) piece(id int32, o *DecodeOptions) string {
	switch t.Type(id) {
	case Control, Unknown:
		if o.SkipSpecial {
			return ""
		}
		return t.Piece(id)
	}
	s := t.Piece(id)
	if o.TrimStart && s != "" {
		o.TrimStart = false
		if t.spacePrefix && s[0] == ' ' {
			return s[1:]
		}
	}
	return s
}

// Decoder decodes ids as they are generated. Tokens may end in the middle of a
// character; it is held back until it is complete.
type Decoder struct {
	// Options may be set before the first Write.
	Options DecodeOptions

	t    *Tokenizer
	held []byte
}

// NewDecoder returns a Decoder that leaves out special tokens.
func (t *Tokenizer) NewDecoder() *Decoder {
	return &Decoder{Options: DecodeOptions{SkipSpecial: true}, t: t}
}

// Write returns the text that id completes, which is valid UTF-8 and may be
// empty. A byte that can no longer become part of a character gives U+FFFD.
func (d *Decoder) Write(id int32) string {
	d.held = append(d.held, d.t.piece(id, &d.Options)...)
	return d.take(false)
}

// Flush returns what is left at the end: U+FFFD for each byte of a character
// that was not completed.
func (d *Decoder) Flush() string { return d.take(true) }

// take returns the characters that are held, the last one only if it is
// complete or all is set.
func (d *Decoder) take(all bool) string {
	var out []byte
	b := d.held
	for len(b) > 0 && (all || utf8.FullRune(b)) {
		r, n := utf8.DecodeRune(b)
		out = utf8.AppendRune(out, r)
		b = b[n:]
	}
	d.held = append(d.held[:0], b...)
	return string(out)
}
