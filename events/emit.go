package events

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/persistence"
)

// emit stores the event and its jobs, then runs the synchronous listeners.
func (b *Bus) emit(ctx context.Context, e *emission) error {
	c, t, err := b.admit(ctx, e)
	if err != nil {
		return err
	}
	why := causeOf(ctx)
	if why.depth >= MaxDepth {
		return fmt.Errorf("%w: limit %d", ErrDepth, MaxDepth)
	}
	r, err := newRow(e, why)
	if err != nil {
		return err
	}
	fact, err := c.plan.Encode(e.event)
	if err != nil {
		return err
	}
	if c.stores() {
		r.trace = b.traceOf(ctx)
		fresh, err := c.store.put(ctx, t, r, fact, c.id, c.listeners, len(c.sync) > 0)
		if err != nil {
			return err
		}
		if !fresh {
			return c.compare(ctx, t, e)
		}
	} else if r.occurredAt == nil {
		at := time.Now().UTC()
		r.occurredAt = &at
	}
	b.announce(t, c, r, e)
	return b.runSync(withCause(ctx, cause{r.correlation, r.id, why.depth + 1}), t, c, r, e)
}

// admit checks that the event can be emitted on ctx at all.
func (b *Bus) admit(ctx context.Context, e *emission) (*channel, *persistence.Transaction, error) {
	if !b.open.Load() {
		return nil, nil, errNotStarted
	}
	t, ok := b.db.Current(ctx)
	if !ok {
		return nil, nil, ErrNoTransaction
	}
	if t.IsReadOnly() || b.db.IsReadOnly(ctx) {
		return nil, nil, persistence.ErrReadOnly
	}
	c, ok := b.types[reflect.TypeOf(e.event)]
	if !ok {
		return nil, nil, fmt.Errorf("%T: %w", e.event, errNotDeclared)
	}
	return c, t, nil
}

func newRow(e *emission, why cause) (*row, error) {
	r := &row{id: e.id, correlation: why.correlation, causation: why.causation}
	if e.idSet && e.id == uuid.Nil {
		return nil, errors.New("events.ID with the nil UUID")
	}
	if !e.idSet {
		id, err := uuid.NewV7()
		if err != nil {
			return nil, fmt.Errorf("make identity: %w", err)
		}
		r.id = id
	}
	if r.correlation == "" {
		r.correlation = r.id.String()
	}
	if err := checkText(r.correlation); err != nil {
		return nil, fmt.Errorf("correlation: %w", err)
	}
	if e.occurredSet {
		at := e.occurredAt.Round(0).UTC()
		if at.Year() < 1 || at.Year() > 9999 {
			return nil, fmt.Errorf("events.OccurredAt(%v): want a year from 1 to 9999", at)
		}
		r.occurredAt = &at
	}
	return r, nil
}

func (c *channel) stores() bool { return c.typ.recorded || len(c.deferred) > 0 }

// compare decides on an identity that was already taken. It runs as a second
// statement, since the first could not see the row it waited for.
func (c *channel) compare(ctx context.Context, t *persistence.Transaction, e *emission) error {
	found, err := c.store.read(ctx, t, []uuid.UUID{e.id})
	if err != nil {
		return err
	}
	stored, ok := found[e.id]
	switch {
	case !ok:
		return fmt.Errorf("%w: %s is taken by an event that this transaction cannot see", ErrEventConflict, e.id)
	case stored.Err != nil:
		return fmt.Errorf("%w: %s: %w", ErrEventConflict, e.id, stored.Err)
	case !c.plan.Equal(stored.Event, e.event):
		return fmt.Errorf("%w: %s", ErrEventConflict, e.id)
	case e.occurredSet && !stored.OccurredAt.Equal(e.occurredAt):
		return fmt.Errorf("%w: %s: occurred at %v, stored with %v", ErrEventConflict, e.id, e.occurredAt.UTC(), stored.OccurredAt)
	}
	return nil
}

// announce has the claimer and the observer told after the commit.
func (b *Bus) announce(t *persistence.Transaction, c *channel, r *row, e *emission) {
	if b.wake != nil && len(c.wakes) > 0 {
		t.AfterCommit(func() { b.wake(c.wakes) })
	}
	if len(b.observers) > 0 {
		t.AfterCommit(func() {
			for _, observe := range b.observers {
				observe(Emitted{r.id, c.typ.decl.Identity, e.event})
			}
		})
	}
}

// runSync runs the synchronous listeners; the first error ends it and marks the
// transaction rollback-only, as does a listener that ends its goroutine.
func (b *Bus) runSync(ctx context.Context, t *persistence.Transaction, c *channel, r *row, e *emission) error {
	if len(c.sync) == 0 {
		return nil
	}
	returned := false
	defer func() {
		if !returned {
			t.SetRollbackOnly(errGoexit)
		}
	}()
	for _, s := range b.ordered(c.sync) {
		meta := s.meta(Stored{ID: r.id, OccurredAt: *r.occurredAt, Correlation: r.correlation, Causation: r.causation})
		meta.Attempt = 1
		if err := b.runOne(ctx, s, t, e.event, meta); err != nil {
			returned = true
			t.SetRollbackOnly(err)
			return err
		}
	}
	returned = true
	return nil
}

func (b *Bus) ordered(list []*Subscriber) []*Subscriber {
	if b.shuffle == nil || len(list) < 2 {
		return list
	}
	shuffled := append([]*Subscriber(nil), list...)
	b.shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	return shuffled
}

// meta is what the listener is told about e.
func (s *Subscriber) meta(e Stored) Meta {
	identity := s.Listener.decl.Identity
	return Meta{
		EventID: e.ID, Type: s.Type.decl.Identity, OccurredAt: e.OccurredAt, Listener: identity,
		IdempotencyKey: e.ID.String() + "/" + identity,
		Correlation:    e.Correlation, Causation: e.Causation,
	}
}

// run runs the listener; an error or panic gets its identity and place.
func (s *Subscriber) run(ctx context.Context, tx access.Tx, event any, meta Meta) error {
	return access.Identify(&s.Listener.decl, access.Protect(func() error {
		return s.Listener.run(ctx, s.deps, event, meta, tx)
	}))
}

// Deliver runs a deferred listener for a stored event in tx, the transaction
// that ctx carries. Events that the listener emits follow from this one.
func (s *Subscriber) Deliver(ctx context.Context, tx access.Tx, e Stored, attempt, replay int) error {
	meta := s.meta(e)
	meta.Attempt, meta.Replay = attempt, replay
	return s.run(withCause(ctx, cause{correlation: e.Correlation, causation: e.ID}), tx, e.Event, meta)
}
