package kernel

import (
	"errors"
	"regexp"

	"github.com/tidings-go/tidings/persistence/mapping"
)

// The pages of verify-history. %[1]s is the framework's schema or an event
// table, %[2]s a list of states.
const (
	// The unique index on (event_id, listener_id, replay) yields the order.
	pendingEvents = `SELECT DISTINCT d.event_id FROM %[1]s.delivery d
JOIN %[1]s.event_type t ON t.id = d.event_type_id
WHERE t.name = $1 AND d.event_id > $2::uuid AND d.state IN (%[2]s)
ORDER BY d.event_id LIMIT $3`
	storedEvents     = `SELECT "id" FROM %[1]s WHERE "id" > $1::uuid ORDER BY "id" LIMIT $2`
	pendingListeners = `SELECT t.name, l.name, count(*) FROM %[1]s.delivery d
JOIN %[1]s.listener l ON l.id = d.listener_id
JOIN %[1]s.event_type t ON t.id = d.event_type_id
WHERE d.state IN (%[2]s)
GROUP BY t.name, l.name ORDER BY t.name, l.name`
)

// parts returns the complaints of an event that cannot be rebuilt, one for each
// field, or the error itself.
func parts(err error) []error {
	var found []error
	var walk func(error)
	walk = func(err error) {
		if field, ok := err.(*mapping.FieldError); ok { //nolint:errorlint // each level on its own
			found = append(found, field)
			return
		}
		switch wrapped := err.(type) { //nolint:errorlint // each level on its own
		case interface{ Unwrap() []error }:
			for _, e := range wrapped.Unwrap() {
				walk(e)
			}
		case interface{ Unwrap() error }:
			if e := wrapped.Unwrap(); e != nil {
				walk(e)
			}
		}
	}
	walk(err)
	if len(found) == 0 {
		return []error{err}
	}
	return found
}

// values are what differs from event to event in the text of a complaint.
var values = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'[^']*'|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|[-+]?\b[0-9][0-9.,:TZ+-]*`)

// rule is the field and the text of a complaint without the event's values, so
// that equal reasons are counted together.
func rule(err error) string {
	text, path := err.Error(), ""
	var field *mapping.FieldError
	if errors.As(err, &field) {
		text, path = field.Err.Error(), field.Path
	}
	text = values.ReplaceAllString(text, "…")
	if path == "" {
		return text
	}
	return path + ": " + text
}
