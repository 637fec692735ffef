package tokenizer

// Size is the number of tokens.
func (t *Tokenizer) Size() int { return len(t.texts) }

// Has tells whether id is in the vocabulary.
func (t *Tokenizer) Has(id int32) bool { return t.has(id) }

// Type returns the type of a token, Undefined for an id that is out of range.
func (t *Tokenizer) Type(id int32) Type {
	if !t.has(id) {
		return Undefined
	}
	return t.types[id]
}

// Text returns a token as the vocabulary writes it, with Ġ or ▁ for a space for
// example. It is empty for an id that is out of range.
func (t *Tokenizer) Text(id int32) string {
	if !t.has(id) {
		return ""
	}
	return t.texts[id]
}

// Piece returns the bytes that a token decodes to, which need not be valid
// UTF-8 on their own. It is U+FFFD for an id that is out of range.
func (t *Tokenizer) Piece(id int32) string {
	if !t.has(id) {
		return replacement
	}
	return t.pieces[id]
}

// Lookup returns the token with that text, written as in the vocabulary.
func (t *Tokenizer) Lookup(text string) (int32, bool) {
	id, ok := t.ids[text]
	return id, ok
}

// BOS is the token that begins a text; of BERT models it is CLS.
func (t *Tokenizer) BOS() (int32, bool) { return t.bos, t.bos != none }

// EOS is the token that ends a text.
func (t *Tokenizer) EOS() (int32, bool) { return t.eos, t.eos != none }

// EOT is the token that ends a turn of a chat.
func (t *Tokenizer) EOT() (int32, bool) { return t.eot, t.eot != none }

// EOM is the token that ends a message which a tool is to answer.
func (t *Tokenizer) EOM() (int32, bool) { return t.eom, t.eom != none }

// UNK is the token of text that the vocabulary cannot express.
func (t *Tokenizer) UNK() (int32, bool) { return t.unk, t.unk != none }

// SEP is the token that separates sentences, of BERT models.
func (t *Tokenizer) SEP() (int32, bool) { return t.sep, t.sep != none }

// PAD is the token that fills up a batch.
func (t *Tokenizer) PAD() (int32, bool) { return t.pad, t.pad != none }

// Mask is the token that hides a word, of BERT models.
func (t *Tokenizer) Mask() (int32, bool) { return t.mask, t.mask != none }

// Fill returns the tokens that mark what comes before a gap, what comes after it,
// and where the model is to fill it in.
func (t *Tokenizer) Fill() (prefix, suffix, middle int32, ok bool) {
	prefix, suffix, middle = t.fill[0], t.fill[1], t.fill[2]
	return prefix, suffix, middle, prefix != none && suffix != none && middle != none
}

// AddBOS tells whether Options.AddSpecial puts BOS before a text.
func (t *Tokenizer) AddBOS() bool { return t.addBOS }

// AddSEP tells whether Options.AddSpecial puts SEP after a text.
func (t *Tokenizer) AddSEP() bool { return t.addSEP }

// AddEOS tells whether Options.AddSpecial puts EOS after a text.
func (t *Tokenizer) AddEOS() bool { return t.addEOS }

// IsEOG tells whether a token ends generation.
func (t *Tokenizer) IsEOG(id int32) bool { return t.eog[id] }
