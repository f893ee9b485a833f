package catalogue

import (
	"fmt"
	"io"
	"strings"

	"github.com/tidings-go/tidings/access"
)

// Text prints the catalogue for people.
func (c Catalogue) Text(w io.Writer) error {
	var b strings.Builder
	kind := ""
	for _, e := range c.Entries {
		if e.Kind != kind {
			if kind != "" {
				b.WriteByte('\n')
			}
			kind = e.Kind
			fmt.Fprintln(&b, plural(kind))
		}
		e.print(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func plural(kind string) string { return strings.ToUpper(kind) + "S" }

func (e Entry) print(w io.Writer) {
	fmt.Fprintf(w, "\n  %s  %s\n", e.Identity, e.signature())
	place := e.Declared
	if e.Function != "" && e.Function != e.Declared {
		place += ", function " + e.Function
	}
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(w, "    %-11s %s\n", label, text)
		}
	}
	line("declared", place)
	line("transaction", e.Transaction.text())
	line("policy", e.Policy.text())
	line("calls", strings.Join(e.Calls, ", "))
	line("emits", strings.Join(e.Emits, ", "))
	line("listens to", e.ListensTo)
	line("listeners", strings.Join(e.Listeners, ", "))
	if e.Kind == access.KindEvent.String() {
		line("stored", e.storage())
	}
}

func (e Entry) signature() string {
	if e.Output != "" {
		return e.Input + " → " + e.Output
	}
	return e.Input
}

func (e Entry) storage() string {
	switch {
	case e.Recorded:
		return "yes, recorded"
	case e.Stored:
		return "yes, for its deferred listeners"
	}
	return "no: nothing would read it"
}

func (t *Transaction) text() string {
	if t == nil {
		return ""
	}
	var parts []string
	if t.ReadOnly {
		parts = append(parts, "read-only")
	}
	if t.Isolation != "" {
		parts = append(parts, strings.ToLower(t.Isolation))
	}
	if t.ConflictRetries > 0 {
		parts = append(parts, fmt.Sprintf("%d retries after conflicts", t.ConflictRetries))
	}
	return strings.Join(parts, ", ")
}

func (p *Policy) text() string {
	if p == nil {
		return ""
	}
	text := fmt.Sprintf("%d attempts, waits %s to %s, %s each", p.MaxAttempts, p.BackoffFirst, p.BackoffMax, p.TimeLimit)
	if p.Group > 0 {
		text += fmt.Sprintf(", in groups of %d", p.Group)
	}
	if p.Isolation != "" {
		text += ", " + strings.ToLower(p.Isolation)
	}
	return text
}
