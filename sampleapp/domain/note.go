package domain

import "strings"

// Note is what a customer has the driver know, or nothing.
type Note struct{ text string }

// NewNote makes a note of one line; spaces alone are no note.
func NewNote(text string) (Note, error) {
	if strings.TrimSpace(text) == "" {
		return Note{}, nil
	}
	text, err := line("the note", text)
	return Note{text}, err
}

// String returns the note's text.
func (n Note) String() string { return n.text }
