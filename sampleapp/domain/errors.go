package domain

import (
	"errors"
	"fmt"
)

// Kind tells who has to do something about an Error.
type Kind int

// The kinds of errors.
const (
	Invalid  Kind = iota + 1 // the request makes no sense: change it
	Missing                  // it names something that does not exist
	Conflict                 // it came too late, or twice
)

// Error is a rule of the company that a request breaks. Its text is meant for
// whoever made the request.
type Error struct {
	Kind Kind
	text string
}

// Error returns the broken rule.
func (e *Error) Error() string { return e.text }

func invalid(format string, args ...any) error {
	return &Error{Kind: Invalid, text: fmt.Sprintf(format, args...)}
}

func conflict(format string, args ...any) error {
	return &Error{Kind: Conflict, text: fmt.Sprintf(format, args...)}
}

// NotFound is the Error for something that does not exist. Repositories return
// it.
func NotFound(what string) error {
	return &Error{Kind: Missing, text: what + " does not exist"}
}

// In says where in a request a rule is broken; other errors stay as they are.
func In(where string, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	return &Error{Kind: e.Kind, text: where + ": " + e.text}
}

// Rules that need no details.
var (
	ErrNoAddress = invalid("a stop is moved to an address")
	ErrNoDay     = invalid("a day is needed")
	ErrSameStop  = invalid("a swap needs two stops")
)
