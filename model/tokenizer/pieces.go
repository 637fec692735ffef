package tokenizer

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	escapedSpace = "\u2581" // ▁, how SentencePiece writes a space
	replacement  = "\uFFFD"
)

// setPieces fills in what tokens decode to; decode appends the piece of a text
// token. Special and user-defined tokens stand for themselves. All pieces share
// one allocation.
func (v *vocabulary) setPieces(decode func(dst []byte, text string) []byte) {
	var all []byte
	ends := make([]int, len(v.texts))
	for i, text := range v.texts {
		switch v.types[i] {
		case Control, Unknown, UserDefined:
			all = append(all, text...)
		case Byte:
			if b, ok := parseByte(text); ok {
				all = append(all, b)
			} else {
				all = append(all, text...)
			}
		default:
			all = decode(all, text)
		}
		ends[i] = len(all)
	}
	s := string(all)
	v.pieces = make([]string, len(ends))
	start := 0
	for i, end := range ends {
		v.pieces[i] = s[start:end]
		start = end
	}
}

// parseByte reads a byte token, <0x0A> for example.
func parseByte(text string) (byte, bool) {
	if len(text) != 6 || text[:3] != "<0x" || text[5] != '>' {
		return 0, false
	}
	b, err := strconv.ParseUint(text[3:5], 16, 8)
	return byte(b), err == nil
}

// unescape appends text with spaces for ▁.
func unescape(dst []byte, text string) []byte {
	for {
		i := strings.Index(text, escapedSpace)
		if i < 0 {
			return append(dst, text...)
		}
		dst = append(append(dst, text[:i]...), ' ')
		text = text[i+len(escapedSpace):]
	}
}

// GPT-2 writes each byte as one printable character: the printable ones of
// Latin-1 as themselves, the others, in order, from U+0100 on.
var (
	byteRunes [256]rune
	runeBytes [0x144]int16 // -1 where there is none
)

func init() {
	for i := range runeBytes {
		runeBytes[i] = -1
	}
	next := rune(0x100)
	for b := range byteRunes {
		r := rune(b)
		printable := r >= '!' && r <= '~' || r >= 0xA1 && r != 0xAD
		if !printable {
			r = next
			next++
		}
		byteRunes[b] = r
		runeBytes[r] = int16(b)
	}
}

// appendMapped appends s, each byte written as its character.
func appendMapped(dst []byte, s string) []byte {
	for i := range len(s) {
		dst = utf8.AppendRune(dst, byteRunes[s[i]])
	}
	return dst
}

// unmap appends the bytes that the characters of text stand for. Text with
// other characters, which some vocabularies have as additional tokens, stands
// for itself.
func unmap(dst []byte, text string) []byte {
	n := len(dst)
	for _, r := range text {
		if int(r) >= len(runeBytes) || runeBytes[r] < 0 {
			return append(dst[:n], text...)
		}
		dst = append(dst, byte(runeBytes[r]))
	}
	return dst
}
