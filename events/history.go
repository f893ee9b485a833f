package events

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/access"
)

var (
	// ErrNoEvent is returned by History.Get for an identity that is not stored.
	ErrNoEvent = errors.New("no such stored event")
	// ErrNotStored is returned by a History whose events no table holds.
	ErrNotStored = errors.New("events of the type are not stored: declare it events.Recorded()")
	// ErrCursor is returned by History.List for a cursor that is none of its own.
	ErrCursor = errors.New("malformed cursor")
)

// How many events one List returns.
const (
	DefaultHistoryLimit = 100
	MaxHistoryLimit     = 1000
)

// Order is a time by which a history is selected and sorted.
type Order int

const (
	// ByRecorded is the time at which events were stored, by the database clock.
	ByRecorded Order = iota
	// ByOccurred is the time at which the facts occurred.
	ByOccurred
)

// History reads the stored events of one type. An operation that reads them names
// it in its Deps. It is a small value, safe for concurrent use; a zero history
// returns access.ErrNotRunning.
//
// It reads in the transaction that the context carries, which then sees its own
// emits too, or else in a read-only transaction of its own. It is for looking
// back, not a feed: an event that commits while a list is paged may stand before
// the cursor. What has to happen for every event belongs in a deferred listener.
type History[T any] struct {
	ask func(context.Context, *historyQuery) (historyPage, error)
}

// Entry is a stored event.
type Entry[T any] struct {
	ID         uuid.UUID
	Event      T
	OccurredAt time.Time // in UTC
	RecordedAt time.Time // in UTC, by the database clock
	// Correlation and Causation are those of Meta.
	Correlation string
	Causation   uuid.UUID
	// Err says why the event could not be rebuilt under today's rules, and wraps
	// ErrRebuild; Event is then zero.
	Err error
}

// Query selects what List returns.
type Query struct {
	// From and To bound the time, From included, To not; zero is no bound.
	From, To time.Time
	// By is the time they bound and the order, oldest first; default ByRecorded.
	// Events of one time stand by their identity.
	By Order
	// After is the Next of the page before; empty: from the beginning.
	After string
	// Limit is how many events to return, at most MaxHistoryLimit; 0 is
	// DefaultHistoryLimit.
	Limit int
}

// Page is what List returns.
type Page[T any] struct {
	Entries []Entry[T]
	// Next is the After of the next page; empty after the last one.
	Next string
}

// Get returns the event with an identity. An event that is stored and cannot be
// rebuilt is an error that wraps ErrRebuild.
func (h History[T]) Get(ctx context.Context, id uuid.UUID) (Entry[T], error) {
	page, err := h.page(ctx, &historyQuery{id: id, one: true})
	switch {
	case err != nil:
		return Entry[T]{}, err
	case len(page.Entries) == 0:
		return Entry[T]{}, fmt.Errorf("%w: %s", ErrNoEvent, id)
	}
	return page.Entries[0], page.Entries[0].Err
}

// List returns events in the order of a time. One that cannot be rebuilt has its
// Err set and hides no other.
func (h History[T]) List(ctx context.Context, q Query) (Page[T], error) {
	return h.page(ctx, &historyQuery{Query: q})
}

func (h History[T]) page(ctx context.Context, q *historyQuery) (Page[T], error) {
	if h.ask == nil {
		return Page[T]{}, fmt.Errorf("history of %v: zero history: %w", reflect.TypeFor[T](), access.ErrNotRunning)
	}
	found, err := h.ask(ctx, q)
	page := Page[T]{Next: found.next}
	for _, e := range found.events {
		event, _ := e.Event.(T)
		page.Entries = append(page.Entries, Entry[T]{e.ID, event, e.OccurredAt, e.RecordedAt, e.Correlation, e.Causation, e.Err})
	}
	return page, err
}

// connectHistory connects a history like an emitter: with the runtime alone, so
// that a listener which reads the events that it listens to is no cycle.
func connectHistory[T any](rt *access.Runtime) History[T] {
	target := access.Target{Kind: access.KindEvent, Type: reflect.TypeFor[T]()}
	return History[T]{func(ctx context.Context, q *historyQuery) (historyPage, error) {
		page, err := rt.Call(ctx, target, q)
		if err != nil {
			return historyPage{}, fmt.Errorf("history of %w", err)
		}
		return page.(historyPage), nil
	}}
}

// HistoryOf returns a history of the given events, for tests of an operation
// without kernel, fx or database. It answers as a real one does.
func HistoryOf[T any](entries ...Entry[T]) History[T] {
	all := make([]Stored, len(entries))
	for i, e := range entries {
		all[i] = Stored{
			ID: e.ID, Event: e.Event, OccurredAt: e.OccurredAt, RecordedAt: e.RecordedAt,
			Correlation: e.Correlation, Causation: e.Causation, Err: e.Err,
		}
	}
	return History[T]{func(_ context.Context, q *historyQuery) (historyPage, error) { return q.from(all) }}
}
