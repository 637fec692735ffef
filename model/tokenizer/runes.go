package tokenizer

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// class says to which sets of characters that occur in pre-tokenizers a
// character belongs.
type class uint16

const (
	upper    class = 1 << iota // \p{Lu} \p{Lt}
	lower                      // \p{Ll}
	caseless                   // \p{Lm} \p{Lo}
	mark                       // \p{M}
	number                     // \p{N}
	digit                      // \p{Nd}, which is in \p{N}
	punct                      // \p{P}
	symbolic                   // \p{S}
	space                      // \s
	newline                    // \r \n, which are in \s
	han                        // \p{Han}

	letter = upper | lower | caseless // \p{L}
)

var classTables = map[class][]*unicode.RangeTable{
	upper:    {unicode.Lu, unicode.Lt},
	lower:    {unicode.Ll},
	caseless: {unicode.Lm, unicode.Lo},
	mark:     {unicode.M},
	number:   {unicode.N},
	digit:    {unicode.Nd},
	punct:    {unicode.P},
	symbolic: {unicode.S},
	space:    {unicode.White_Space},
	newline:  {{R16: []unicode.Range16{{Lo: '\n', Hi: '\r', Stride: 3}}}},
	han:      {unicode.Han},
}

// classPages holds the classes of all characters, in pages of 256. Searching
// the tables of package unicode again and again would take longer than all
// the rest. They are made when first needed, which takes a millisecond.
type classPages [(unicode.MaxRune + 1) / 256]*[256]class

var classes = sync.OnceValue(func() *classPages {
	pages := new(classPages)
	var empty [256]class
	for i := range pages {
		pages[i] = &empty
	}
	set := func(r rune, c class) {
		page := &pages[r>>8]
		if *page == &empty {
			*page = new([256]class)
		}
		(*page)[r&0xFF] |= c
	}
	for c, tables := range classTables {
		for _, t := range tables {
			for _, x := range t.R16 {
				for r := rune(x.Lo); r <= rune(x.Hi); r += rune(x.Stride) {
					set(r, c)
				}
			}
			for _, x := range t.R32 {
				for r := rune(x.Lo); r <= rune(x.Hi); r += rune(x.Stride) {
					set(r, c)
				}
			}
		}
	}
	return pages
})

var asciiClasses = func() (ascii [utf8.RuneSelf]class) {
	for r := range ascii {
		for c, tables := range classTables {
			if unicode.In(rune(r), tables...) {
				ascii[r] |= c
			}
		}
	}
	return ascii
}()

// classOf returns the class of a character.
func classOf(r rune) class {
	if r < utf8.RuneSelf {
		return asciiClasses[r]
	}
	return classes()[r>>8][r&0xFF]
}
