package gguf

import (
	"fmt"
	"strings"
)

// FormatError says what is wrong with a file and where.
type FormatError struct {
	File    string // path or name the file was opened by
	Offset  int64  // where in the file the offending bytes are
	Subject string // the key or tensor concerned, such as `key "general.name"`; may be empty
	Problem string
}

func (e *FormatError) Error() string {
	var b strings.Builder
	if e.File != "" {
		fmt.Fprintf(&b, "gguf: %s: ", e.File)
	}
	fmt.Fprintf(&b, "offset %d: ", e.Offset)
	if e.Subject != "" {
		b.WriteString(e.Subject + ": ")
	}
	b.WriteString(e.Problem)
	return b.String()
}

// subject names a key or a tensor in an error. Names come from the file, so
// they are quoted and cut.
func subject(kind, name string) string {
	const most = 128
	if len(name) > most {
		return fmt.Sprintf("%s %q... (%d bytes)", kind, name[:most], len(name))
	}
	return fmt.Sprintf("%s %q", kind, name)
}
