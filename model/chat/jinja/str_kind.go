package jinja

import (
	"strings"
	"unicode"
)

// every tests that a string is not empty and all its characters pass.
func every(f func(rune) bool) strMethod {
	return predicate(func(t string) bool {
		return t != "" && strings.IndexFunc(t, func(r rune) bool { return !f(r) }) < 0
	})
}

func isDigit(r rune) bool {
	return unicode.IsDigit(r) || strings.ContainsRune("²³¹⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", r) ||
		0x2460 <= r && r <= 0x2468 || 0x2474 <= r && r <= 0x247c || 0x2488 <= r && r <= 0x2490
}

func isLower(t string) bool { return hasCase(t, unicode.IsLower) }

func isUpper(t string) bool { return hasCase(t, unicode.IsUpper) }

// hasCase says whether there is a cased character and all of them pass.
func hasCase(t string, f func(rune) bool) bool {
	any := false
	for _, r := range t {
		if cased(r) {
			if !f(r) {
				return false
			}
			any = true
		}
	}
	return any
}

func isTitle(t string) bool {
	any, inWord := false, false
	for _, r := range t {
		switch {
		case unicode.IsUpper(r) || unicode.IsTitle(r):
			if inWord {
				return false
			}
			inWord, any = true, true
		case unicode.IsLower(r):
			if !inWord {
				return false
			}
			any = true
		default:
			inWord = false
		}
	}
	return any
}

func isIdentifier(t string) bool {
	for i, r := range t {
		if !isNameRune(r, i == 0) {
			return false
		}
	}
	return t != ""
}
