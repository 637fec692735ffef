package jinja

import (
	"errors"
	"fmt"
)

// ErrLimit is wrapped by every error that a bound of [Limits] or of the parser
// causes.
var ErrLimit = errors.New("template limit exceeded")

// Error is what Parse and Render return: a message and the place in the
// template that caused it.
type Error struct {
	Name    string // of the template, as given to Parse
	Line    int    // counted from 1
	Message string // without the place; for a raised error the template's own text
	Raised  bool   // the template called raise_exception
	Err     error  // the cause, if there is one to be unwrapped
}

// Error gives the place and the message.
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d: %s", e.Name, e.Line, e.Message)
}

// Unwrap gives the cause: ErrLimit or the context's error, say.
func (e *Error) Unwrap() error { return e.Err }

// raised is the error of raise_exception until its place is known.
type raised struct{ text string }

func (r raised) Error() string { return r.text }

// located puts a place on an error that has none yet.
func located(name string, line int, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	var r raised
	return &Error{Name: name, Line: line, Message: err.Error(), Raised: errors.As(err, &r), Err: err}
}

func limitErrorf(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrLimit, fmt.Sprintf(format, a...))
}
