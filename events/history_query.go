package events

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/persistence"
)

// historyQuery is one call of a History, erased; historyPage its answer.
type historyQuery struct {
	Query
	id  uuid.UUID
	one bool // by id
}

type historyPage struct {
	events []Stored
	next   string
}

func (o Order) known() bool    { return o == ByRecorded || o == ByOccurred }
func (o Order) unknown() error { return fmt.Errorf("unknown order %d", int(o)) }

// columns is the key of the order: the time, and the identity behind it.
func (o Order) columns() []string {
	if o == ByOccurred {
		return []string{eventOccurred, eventNanos, eventID}
	}
	return []string{eventRecorded, eventID}
}

// at is the time of an event in this order.
func (o Order) at(e Stored) time.Time {
	if o == ByOccurred {
		return e.OccurredAt
	}
	return e.RecordedAt
}

// values are a time as the columns of the order hold it. Recording times have no
// nanoseconds: a bound between two microseconds means the later one.
func (o Order) values(t time.Time) []any {
	t = t.UTC()
	if o == ByOccurred {
		return []any{t.Truncate(time.Microsecond), t.Nanosecond() % 1000}
	}
	if whole := t.Truncate(time.Microsecond); !whole.Equal(t) {
		return []any{whole.Add(time.Microsecond)}
	}
	return []any{t}
}

// check returns what is wrong with the query, and its place behind After.
func (q *historyQuery) check() (after *place, err error) {
	switch {
	case q.one:
		return nil, nil
	case !q.By.known():
		return nil, q.By.unknown()
	case q.Limit < 0 || q.Limit > MaxHistoryLimit:
		return nil, fmt.Errorf("limit %d: want 0 to %d", q.Limit, MaxHistoryLimit)
	}
	for _, bound := range []time.Time{q.From, q.To} {
		if y := bound.UTC().Year(); y < 1 || y > 9999 {
			return nil, fmt.Errorf("time range: year %d: want one from 1 to 9999", y)
		}
	}
	if q.After == "" {
		return nil, nil
	}
	return parsePlace(q.By, q.After)
}

func (q *historyQuery) limit() int { return cmp.Or(q.Limit, DefaultHistoryLimit) }

// page cuts one event more than the limit off, which only says that there is one.
func (q *historyQuery) page(found []Stored) historyPage {
	if q.one || len(found) <= q.limit() {
		return historyPage{events: found}
	}
	found = found[:q.limit()]
	last := found[len(found)-1]
	return historyPage{events: found, next: place{q.By.at(last), last.ID}.cursor(q.By)}
}

// place is where an event stands in an order.
type place struct {
	at time.Time
	id uuid.UUID
}

func (p place) compare(o place) int {
	return cmp.Or(p.at.Compare(o.at), bytes.Compare(p.id[:], o.id[:]))
}

// cursor writes a place as an opaque text that a URL may hold.
func (p place) cursor(by Order) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s %s", by, p.at.UTC().Format(time.RFC3339Nano), p.id))
}

func parsePlace(by Order, cursor string) (*place, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	words := strings.Split(string(text), " ")
	if err != nil || len(words) != 3 {
		return nil, ErrCursor
	}
	if words[0] != fmt.Sprint(int(by)) {
		return nil, fmt.Errorf("%w: it is of a list in another order", ErrCursor)
	}
	var p place
	if p.at, err = time.Parse(time.RFC3339Nano, words[1]); err == nil {
		p.id, err = uuid.Parse(words[2])
	}
	if y := p.at.UTC().Year(); err != nil || y < 1 || y > 9999 {
		return nil, ErrCursor
	}
	return &p, nil
}

// history answers a call in the caller's transaction, or in one of its own that
// sees one state of the database throughout.
func (b *Bus) history(ctx context.Context, t *Type, q *historyQuery) (any, error) {
	page, err := b.readHistory(ctx, t, q)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.decl.Identity, err)
	}
	return page, nil
}

func (b *Bus) readHistory(ctx context.Context, typ *Type, q *historyQuery) (page historyPage, err error) {
	c, ok := b.types[typ.decl.Input]
	switch {
	case !ok:
		return page, errNotDeclared
	case !b.open.Load():
		return page, errNotStarted
	case !c.stores():
		return page, ErrNotStored
	}
	after, err := q.check()
	if err != nil {
		return page, err
	}
	read := func(ctx context.Context, t *persistence.Transaction) error {
		found, err := c.store.pick(ctx, t, q, after)
		page = q.page(found)
		return err
	}
	if t, ok := b.db.Current(ctx); ok {
		return page, read(ctx, t)
	}
	return page, b.db.Required(ctx, ownHistory, read)
}

// from answers the query from events in memory.
func (q *historyQuery) from(all []Stored) (historyPage, error) {
	after, err := q.check()
	if err != nil {
		return historyPage{}, err
	}
	var found []Stored
	for _, e := range all {
		at := q.By.at(e)
		switch {
		case q.one && e.ID != q.id,
			!q.one && !q.From.IsZero() && at.Before(q.From),
			!q.one && !q.To.IsZero() && !at.Before(q.To),
			after != nil && place{at, e.ID}.compare(*after) <= 0:
		default:
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b Stored) int { return place{q.By.at(a), a.ID}.compare(place{q.By.at(b), b.ID}) })
	return q.page(found), nil
}
