package domain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxText is how many bytes a name, street or city has at most.
const maxText = 200

// line returns text without spaces around it, if it is one short, printable line.
func line(what, text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", invalid("%s is needed", what)
	case len(text) > maxText:
		return "", invalid("%s has more than %d bytes", what, maxText)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return "", invalid("%s holds what cannot be printed", what)
	}
	return text, nil
}
