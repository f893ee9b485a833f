package events

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/access"
)

// Emitter emits events of one type. An operation that emits names its emitters
// in its Deps. It is a small value, safe for concurrent use; a zero emitter
// returns access.ErrNotRunning.
type Emitter[T any] struct {
	emit func(context.Context, T, []EmitOption) error
}

// Emit reports event in the transaction that ctx carries: it stores it with one
// job per deferred listener, if there is any or the type is recorded, and then
// runs the synchronous listeners in that transaction, in the order of their
// identities (an order that apps must not build on).
//
// Errors: ErrNoTransaction, persistence.ErrReadOnly, ErrEventConflict, a value
// that cannot be stored (with its field path; nothing was written), and the
// error of a synchronous listener, which also marks the transaction
// rollback-only.
func (e Emitter[T]) Emit(ctx context.Context, event T, opts ...EmitOption) error {
	if e.emit == nil {
		return fmt.Errorf("emit %v: zero emitter: %w", reflect.TypeFor[T](), access.ErrNotRunning)
	}
	return e.emit(ctx, event, opts)
}

// HandleTarget returns what the emitter reaches.
func (Emitter[T]) HandleTarget() access.Target {
	return access.Target{Kind: access.KindEvent, Type: reflect.TypeFor[T]()}
}

func connectEmitter[T any](rt *access.Runtime) Emitter[T] {
	target := Emitter[T]{}.HandleTarget()
	return Emitter[T]{func(ctx context.Context, event T, opts []EmitOption) error {
		_, err := rt.Call(ctx, target, newEmission(event, opts))
		return err
	}}
}

// RecordTo returns an emitter that appends what is emitted to got and does
// nothing else, for tests of an operation without kernel, fx or database. It is
// safe for concurrent use; read got when the emitting is over.
func RecordTo[T any](got *[]T) Emitter[T] {
	var mu sync.Mutex
	return Emitter[T]{func(_ context.Context, event T, _ []EmitOption) error {
		mu.Lock()
		defer mu.Unlock()
		*got = append(*got, event)
		return nil
	}}
}

// EmitOption sets a property of one emitted event.
type EmitOption func(*emission)

// ID sets the identity of the event; default is a new UUIDv7. The same identity
// again with equal data (the fact, and the occurrence time if it is set) is a
// no-op that adds no job and runs no listener, also when two publishers race;
// with different data it is ErrEventConflict. Identities of events that are not
// stored are not remembered.
func ID(id uuid.UUID) EmitOption {
	return func(e *emission) { e.id, e.idSet = id, true }
}

// OccurredAt sets when the fact occurred; default is the database's clock at
// emit. It is domain data: it may lie in the past or the future, and it never
// schedules anything. It is kept to the nanosecond, as an instant.
func OccurredAt(t time.Time) EmitOption {
	return func(e *emission) { e.occurredAt, e.occurredSet = t, true }
}

// emission is one call of Emit, erased.
type emission struct {
	event       any
	id          uuid.UUID
	idSet       bool
	occurredAt  time.Time
	occurredSet bool
}

func newEmission(event any, opts []EmitOption) *emission {
	e := &emission{event: event}
	for _, o := range opts {
		if o != nil {
			o(e)
		}
	}
	return e
}
