package tokenizer

import "fmt"

// fallback encodes what is in no token.
type fallback struct {
	bytes   *[256]int32 // tokens of single bytes
	invalid []int32     // U+FFFD, in place of a byte that has no token
	unknown *int32      // or else the unknown token, in place of everything
}

// encode appends one token for each byte of text.
func (f *fallback) encode(ids []int32, text string) ([]int32, error) {
	n := len(ids)
	for i := range len(text) {
		id := f.bytes[text[i]]
		switch {
		case id != none:
			ids = append(ids, id)
		case f.invalid != nil:
			ids = append(ids, f.invalid...)
		case *f.unknown != none:
			return append(ids[:n], *f.unknown), nil
		default:
			return nil, fmt.Errorf("%q is not in the vocabulary, which has no token for byte 0x%02X and no unknown token", text, text[i])
		}
	}
	return ids, nil
}

// byteTokens returns the tokens <0x00> to <0xFF>, or none where one is missing.
func (v *vocabulary) byteTokens() *[256]int32 {
	var t [256]int32
	for b := range t {
		t[b] = v.find(fmt.Sprintf("<0x%02X>", b))
	}
	return &t
}

// mappedBytes returns the tokens of single bytes that are written as one
// character. Some vocabularies have none for bytes that are in no UTF-8 text;
// a user-defined token that looks like one is the character itself.
func (v *vocabulary) mappedBytes() *[256]int32 {
	var t [256]int32
	for b, r := range byteRunes {
		id := v.find(string(r))
		if id != none && (v.types[id] == UserDefined || v.special(id)) {
			id = none
		}
		t[b] = id
	}
	return &t
}
