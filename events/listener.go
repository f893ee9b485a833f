package events

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/access"
)

// Self is what a listener gets besides its context. It can be filled by hand in
// a test, without kernel, fx or database.
type Self[E, Deps any] struct {
	// Event is the fact.
	Event E
	// Meta tells about the event and this delivery of it.
	Meta Meta
	// Deps are the declared dependencies; one value serves all deliveries.
	Deps Deps
	// Tx is the transaction: the publisher's for a synchronous listener, the
	// processing transaction for a deferred one.
	Tx access.Tx
}

// Meta tells about an event and one delivery of it.
type Meta struct {
	// EventID is the identity of the event.
	EventID uuid.UUID
	// Type is the declared identity of the event type.
	Type string
	// OccurredAt is when the fact occurred, in UTC.
	OccurredAt time.Time
	// Listener is the declared identity of the listener.
	Listener string
	// Attempt counts the started attempts of this job's run, from 1; it is 1
	// for a synchronous listener.
	Attempt int
	// Replay is 0 for the original job and counts the operators' replays.
	Replay int
	// IdempotencyKey is the same at every attempt and replay of one event for
	// one listener: hand it to remote systems, for a delivery may be repeated.
	IdempotencyKey string
	// Correlation groups all events that follow from one cause; by default it is
	// the identity of the first event.
	Correlation string
	// Causation is the event in whose listener this one was emitted, or the nil
	// UUID.
	Causation uuid.UUID
}

// Listener is a declared synchronous or deferred listener. It is immutable and
// shared by all apps of a process.
type Listener struct {
	decl   access.Declaration
	policy Policy
	run    func(ctx context.Context, deps, event any, meta Meta, tx access.Tx) error
}

// Declaration describes the listener; it must not be changed.
func (l *Listener) Declaration() *access.Declaration { return &l.decl }

// Policy returns how a deferred listener is delivered.
func (l *Listener) Policy() Policy { return l.policy }

// IsDeferred says whether the listener is delivered after the commit.
func (l *Listener) IsDeferred() bool { return l.decl.Kind == access.KindDeferredListener }

// Sync declares a listener that runs inside emit, in the caller's transaction.
// Its error or panic fails the emit and marks the transaction rollback-only, even
// if the caller swallows the error.
func Sync[E, Deps any](identity string, f func(context.Context, Self[E, Deps]) error) access.Option {
	return declareListener(access.KindSyncListener, identity, f, nil)
}

// Deferred declares a listener that the delivery runtime runs after the commit,
// at least once, in a transaction of its own: its database effects commit with
// the acknowledgement, exactly once per job. Effects outside the database may
// repeat: hand Meta.IdempotencyKey on.
func Deferred[E, Deps any](identity string, f func(context.Context, Self[E, Deps]) error, opts ...ListenerOption) access.Option {
	return declareListener(access.KindDeferredListener, identity, f, opts)
}

// declareListener is called by the exported functions alone: the place it
// records is that of their caller.
func declareListener[E, Deps any](kind access.Kind, identity string, f func(context.Context, Self[E, Deps]) error, opts []ListenerOption) access.Option {
	l := newListener(access.Declaration{
		Kind: kind, Identity: identity, Source: access.Caller(1), Function: access.FunctionLocation(f),
		Input: reflect.TypeFor[E](), Deps: reflect.TypeFor[Deps](),
	}, f == nil, opts)
	l.run = func(ctx context.Context, deps, event any, meta Meta, tx access.Tx) error {
		d, _ := deps.(Deps)
		e, ok := event.(E)
		if !ok {
			return errors.New("the event has another type than the listener")
		}
		return f(ctx, Self[E, Deps]{Event: e, Meta: meta, Deps: d, Tx: tx})
	}
	return access.Declare[any](l, nil)
}

func newListener(decl access.Declaration, isNil bool, opts []ListenerOption) *Listener {
	l := &Listener{decl: decl, policy: DefaultPolicy()}
	if isNil {
		l.decl.Problems = append(l.decl.Problems, access.ErrNilFunction)
	}
	for _, o := range opts {
		if o == nil {
			continue
		}
		if err := o(&l.policy); err != nil {
			l.decl.Problems = append(l.decl.Problems, err)
		}
	}
	return l
}
