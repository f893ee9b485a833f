package persistence

import (
	"fmt"
	"strings"
)

// refuseControl returns ErrTransactionControl if any statement of the text would
// end, restart or nest the transaction. Tried: ROLLBACK AND CHAIN sent by a
// listener loses the acknowledgement and keeps the effect, and both drivers
// report success.
//
// A text without arguments travels by the simple protocol and may hold several
// statements, so every one is looked at, behind comments and outside of quoted
// text. Where quoting depends on a setting of the server
// (standard_conforming_strings), both readings are looked at.
func refuseControl(query string) error {
	for _, backslash := range []bool{false, true} {
		if word := controlWord(query, backslash); word != "" {
			return fmt.Errorf("%w: statement begins with %s", ErrTransactionControl, word)
		}
		if !strings.Contains(query, `\`) {
			break
		}
	}
	return nil
}

// controlWord returns the first word of the first statement that controls the
// transaction, or "". With backslash, a backslash escapes in every string.
func controlWord(query string, backslash bool) string {
	s := scanner{text: query, backslash: backslash}
	for s.skip(); !s.done(); s.skip() {
		if word := s.statement(); word != "" {
			return word
		}
	}
	return ""
}

// controls says whether a statement that begins with these words controls the
// transaction. PREPARE alone prepares a statement.
func controls(first, second string) bool {
	switch first {
	case "BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE":
		return true
	case "PREPARE":
		return second == "TRANSACTION"
	}
	return false
}

// scanner walks over the lexemes of SQL as far as the borders of statements
// need it.
type scanner struct {
	text      string
	pos       int
	backslash bool
	atomic    bool // inside BEGIN ATOMIC … END, the body of a routine
}

func (s *scanner) done() bool { return s.pos >= len(s.text) }

func (s *scanner) rest() string { return s.text[s.pos:] }

// statement consumes one statement with its semicolon and returns its first
// word if it controls the transaction. The statements of a routine's body are
// statements too; END at the place of one ends the body.
func (s *scanner) statement() string {
	first := s.word()
	s.space()
	second := s.peekWord()
	if s.atomic && first == "END" {
		s.atomic = false
	} else if controls(first, second) {
		return strings.TrimSpace(first + " " + second)
	}
	routine := first == "CREATE" && s.routine()
	for depth := 0; !s.done(); {
		switch s.text[s.pos] {
		case ';':
			s.pos++
			return ""
		case '(':
			depth++
		case ')':
			depth--
		}
		// Nothing else of CREATE FUNCTION has these words side by side: a
		// name is followed by its parameters, which stand in parentheses.
		if s.lexeme() == "BEGIN" && routine && depth == 0 && s.follows("ATOMIC") {
			s.atomic = true
			return ""
		}
	}
	return ""
}

// routine says whether [OR REPLACE] FUNCTION or PROCEDURE comes next.
func (s *scanner) routine() bool {
	pos := s.pos
	defer func() { s.pos = pos }()
	if s.follows("OR") && !s.follows("REPLACE") {
		return false
	}
	return s.follows("FUNCTION") || s.follows("PROCEDURE")
}

// follows consumes space and the word, if it comes next.
func (s *scanner) follows(word string) bool {
	s.space()
	if s.peekWord() != word {
		return false
	}
	s.word()
	return true
}

// skip consumes space, comments and empty statements.
func (s *scanner) skip() {
	for {
		s.space()
		if s.done() || s.text[s.pos] != ';' {
			return
		}
		s.pos++
	}
}

// space consumes white space and comments.
func (s *scanner) space() {
	for !s.done() {
		switch r := s.rest(); {
		case strings.ContainsRune(" \t\r\n\f\v", rune(r[0])):
			s.pos++
		case strings.HasPrefix(r, "--"):
			s.lineComment()
		case strings.HasPrefix(r, "/*"):
			s.blockComment()
		default:
			return
		}
	}
}

func (s *scanner) lineComment() {
	if i := strings.IndexAny(s.rest(), "\r\n"); i >= 0 {
		s.pos += i + 1
		return
	}
	s.pos = len(s.text)
}

// blockComment consumes a comment; PostgreSQL nests them.
func (s *scanner) blockComment() {
	depth := 0
	for !s.done() {
		switch r := s.rest(); {
		case strings.HasPrefix(r, "/*"):
			depth++
			s.pos += 2
		case strings.HasPrefix(r, "*/"):
			depth--
			s.pos += 2
			if depth == 0 {
				return
			}
		default:
			s.pos++
		}
	}
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// word consumes an unquoted word and returns it in upper case.
func (s *scanner) word() string {
	from := s.pos
	for !s.done() && isWord(s.text[s.pos]) {
		s.pos++
	}
	return strings.ToUpper(s.text[from:s.pos])
}

func (s *scanner) peekWord() string {
	pos := s.pos
	defer func() { s.pos = pos }()
	return s.word()
}

// lexeme consumes one lexeme or one character inside a statement; it returns
// the word if it was one, in upper case.
func (s *scanner) lexeme() string {
	switch r := s.rest(); {
	case strings.HasPrefix(r, "--"), strings.HasPrefix(r, "/*"):
		s.space()
	case r[0] == '\'':
		s.quoted('\'', s.backslash)
	case r[0] == '"':
		s.quoted('"', false)
	case r[0] == '$':
		s.dollar()
	case r[0] >= '0' && r[0] <= '9': // a word may begin behind it: PostgreSQL 14 reads 1a as 1 a
		s.pos++
	case isWord(r[0]):
		w := s.word()
		if w == "E" && !s.done() && s.text[s.pos] == '\'' {
			s.quoted('\'', true)
		}
		return w
	default:
		s.pos++
	}
	return ""
}

// quoted consumes what stands in quotes, with the strings that continue it.
func (s *scanner) quoted(quote byte, backslash bool) {
	for s.pos++; !s.done(); s.pos++ {
		switch c := s.text[s.pos]; {
		case c == '\\' && backslash:
			s.pos++
		case c == quote && strings.HasPrefix(s.text[s.pos+1:], string(quote)):
			s.pos++
		case c == quote:
			s.pos++
			if quote != '\'' || !s.continued() {
				return
			}
		}
	}
	s.pos = min(s.pos, len(s.text))
}

// continued says whether a string goes on in another pair of quotes, which is so
// if at least one end of a line and nothing but space and line comments stand
// between. It then consumes what stands between: the position is at the quote.
func (s *scanner) continued() bool {
	pos, lines := s.pos, false
	for ; pos < len(s.text); pos++ {
		switch c := s.text[pos]; {
		case c == '\n' || c == '\r':
			lines = true
		case strings.IndexByte(" \t\f\v", c) >= 0:
		case strings.HasPrefix(s.text[pos:], "--"):
			end := strings.IndexAny(s.text[pos:], "\r\n")
			if end < 0 {
				return false
			}
			pos, lines = pos+end, true
		case c == '\'' && lines:
			s.pos = pos
			return true
		default:
			return false
		}
	}
	return false
}

// dollar consumes $tag$…$tag$, or the sign alone where it opens no string.
func (s *scanner) dollar() {
	end := s.pos + 1
	for end < len(s.text) && isWord(s.text[end]) && s.text[end] != '$' {
		end++
	}
	first := s.text[min(s.pos+1, len(s.text)-1)]
	if end >= len(s.text) || s.text[end] != '$' || first >= '0' && first <= '9' {
		s.pos++ // a parameter such as $1, or an operator
		return
	}
	tag := s.text[s.pos : end+1]
	if i := strings.Index(s.text[end+1:], tag); i >= 0 {
		s.pos = end + 1 + i + len(tag)
		return
	}
	s.pos = len(s.text)
}
