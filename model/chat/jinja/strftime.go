package jinja

import (
	"fmt"
	"strings"
	"time"
)

// Strftime formats a time as Python's datetime.strftime does on Linux in the C
// locale, for a datetime without a time zone: %z and %Z are empty. The flags
// - _ 0 ^ # of glibc are understood; an unknown directive stays as it is.
func Strftime(t time.Time, format string) string {
	var b strings.Builder
	for format != "" {
		before, rest, found := strings.Cut(format, "%")
		b.WriteString(before)
		if !found {
			break
		}
		n := len(rest) - len(strings.TrimLeft(rest, "-_0^#"))
		flags, directive := rest[:n], ""
		if n < len(rest) {
			directive = rest[n : n+1]
		}
		out, ok := expand(t, flags, directive)
		if !ok { // take the percent sign for text
			b.WriteByte('%')
			format = rest
			continue
		}
		b.WriteString(out)
		format = rest[n+1:]
	}
	return b.String()
}

// composites are the directives that stand for several others.
var composites = map[string]string{
	"c": "%a %b %e %H:%M:%S %Y",
	"D": "%m/%d/%y",
	"F": "%Y-%m-%d",
	"r": "%I:%M:%S %p",
	"R": "%H:%M",
	"T": "%H:%M:%S",
	"x": "%m/%d/%y",
	"X": "%H:%M:%S",
}

func expand(t time.Time, flags, directive string) (string, bool) {
	if format, ok := composites[directive]; ok {
		return changeCase(Strftime(t, format), flags), true
	}
	if word, ok := wordOf(t, directive); ok {
		if strings.Contains(flags, "#") && directive == "p" {
			return strings.ToLower(word), true
		}
		return changeCase(word, flags), true
	}
	n, width, pad, ok := numberOf(t, directive)
	if !ok {
		return "", false
	}
	for _, f := range flags { // the last one counts
		switch f {
		case '-':
			width = 0
		case '_':
			pad = ' '
		case '0':
			pad = '0'
		}
	}
	if pad == ' ' {
		return fmt.Sprintf("%*d", width, n), true
	}
	return fmt.Sprintf("%0*d", width, n), true
}

func changeCase(t, flags string) string {
	if strings.ContainsAny(flags, "^#") {
		return strings.ToUpper(t)
	}
	return t
}

func wordOf(t time.Time, directive string) (string, bool) {
	switch directive {
	case "a":
		return t.Weekday().String()[:3], true
	case "A":
		return t.Weekday().String(), true
	case "b", "h":
		return t.Month().String()[:3], true
	case "B":
		return t.Month().String(), true
	case "p":
		return t.Format("PM"), true
	case "P":
		return t.Format("pm"), true
	case "z", "Z":
		return "", true
	case "n":
		return "\n", true
	case "t":
		return "\t", true
	case "%":
		return "%", true
	case "f":
		return fmt.Sprintf("%06d", t.Nanosecond()/1000), true
	}
	return "", false
}

func numberOf(t time.Time, directive string) (n, width int, pad rune, ok bool) {
	isoYear, isoWeek := t.ISOWeek()
	hour12 := (t.Hour()+11)%12 + 1
	yday, wday := t.YearDay()-1, int(t.Weekday())
	switch directive {
	case "Y":
		return t.Year(), 0, '0', true
	case "y":
		return t.Year() % 100, 2, '0', true
	case "C":
		return t.Year() / 100, 2, '0', true
	case "G":
		return isoYear, 0, '0', true
	case "g":
		return isoYear % 100, 2, '0', true
	case "m":
		return int(t.Month()), 2, '0', true
	case "d":
		return t.Day(), 2, '0', true
	case "e":
		return t.Day(), 2, ' ', true
	case "H":
		return t.Hour(), 2, '0', true
	case "k":
		return t.Hour(), 2, ' ', true
	case "I":
		return hour12, 2, '0', true
	case "l":
		return hour12, 2, ' ', true
	case "M":
		return t.Minute(), 2, '0', true
	case "S":
		return t.Second(), 2, '0', true
	case "j":
		return yday + 1, 3, '0', true
	case "u":
		return (wday+6)%7 + 1, 0, '0', true
	case "w":
		return wday, 0, '0', true
	case "U":
		return (yday + 7 - wday) / 7, 2, '0', true
	case "W":
		return (yday + 7 - (wday+6)%7) / 7, 2, '0', true
	case "V":
		return isoWeek, 2, '0', true
	case "s":
		return int(t.Unix()), 0, '0', true
	}
	return 0, 0, 0, false
}
