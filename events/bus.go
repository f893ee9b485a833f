package events

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/persistence/mapping"
	"github.com/tidings-go/tidings/persistence/schema"
)

// Bus is the events of one app: its types, their subscribers, and the way an
// emitted event takes. Fill it with AddType and Subscribe, then Open it. After
// that it is safe for concurrent use.
type Bus struct {
	db        *persistence.Database
	framework string
	plans     *Plans
	types     map[reflect.Type]*channel
	open      atomic.Bool

	wake      func(listeners []int32)
	observers []func(Emitted)
	around    func(context.Context, *access.Declaration, uuid.UUID) (context.Context, func(error))
	trace     func(context.Context) string
	shuffle   func(n int, swap func(i, j int))
}

// channel is one event type of an app with its subscribers.
type channel struct {
	typ       *Type
	plan      *mapping.Plan
	store     *store
	id        int32 // in the dictionary
	sync      []*Subscriber
	deferred  []*Subscriber
	listeners string // the numbers of deferred as an integer[]
	wakes     []int32
}

// Subscriber is a listener of one app, with its dependencies.
type Subscriber struct {
	Listener *Listener
	Type     *Type
	// ID is the listener's number in the dictionary once the bus is open.
	ID   int32
	deps any
}

// BusOption configures a Bus.
type BusOption func(*Bus)

// Shuffle has the order of synchronous listeners changed at every emit by
// shuffle, such as rand.Shuffle: apps must not build on that order, and a test
// that shuffles it shows whether they do.
func Shuffle(shuffle func(n int, swap func(i, j int))) BusOption {
	return func(b *Bus) { b.shuffle = shuffle }
}

// WithPlans has the bus store events as plans say; default are plans of an app
// without codecs and enums.
func WithPlans(plans *Plans) BusOption { return func(b *Bus) { b.plans = plans } }

// NewBus returns an empty bus whose jobs stand in the schema framework.
func NewBus(db *persistence.Database, framework string, opts ...BusOption) *Bus {
	b := &Bus{db: db, framework: framework, types: map[reflect.Type]*channel{}}
	for _, o := range opts {
		o(b)
	}
	if b.plans == nil {
		b.plans = NewPlans()
	}
	return b
}

// OnStored has wake called after every commit that added jobs, with the numbers
// of their listeners. Call it before Open.
func (b *Bus) OnStored(wake func(listeners []int32)) { b.wake = wake }

// AddType adds a declared event type. Its declaration and its plan must be free
// of problems, see Plans.Check.
func (b *Bus) AddType(t *Type) error {
	p := b.plans.of(t)
	if p.plan == nil {
		return fmt.Errorf("%s: %w", &t.decl, errors.Join(append(t.decl.Check(), p.problems...)...))
	}
	b.types[t.decl.Input] = &channel{typ: t, plan: p.plan, store: newStore(b.db, b.framework, t, p)}
	return nil
}

// Subscribe adds a listener with its dependencies. Its event type must have been
// added.
func (b *Bus) Subscribe(l *Listener, deps any) error {
	c, ok := b.types[l.decl.Input]
	if !ok {
		return fmt.Errorf("%s: %v: %w", &l.decl, l.decl.Input, errNotDeclared)
	}
	s := &Subscriber{Listener: l, Type: c.typ, deps: deps}
	list := &c.sync
	if l.IsDeferred() {
		list = &c.deferred
	}
	*list = append(*list, s)
	slices.SortFunc(*list, func(a, b *Subscriber) int {
		return strings.Compare(a.Listener.decl.Identity, b.Listener.decl.Identity)
	})
	return nil
}

// Deferred returns the deferred subscribers of the app, sorted by identity.
func (b *Bus) Deferred() []*Subscriber {
	var all []*Subscriber
	for _, c := range b.types {
		all = append(all, c.deferred...)
	}
	slices.SortFunc(all, func(x, y *Subscriber) int {
		return strings.Compare(x.Listener.decl.Identity, y.Listener.decl.Identity)
	})
	return all
}

// Tables returns the tables of the app's stored events: those with a deferred
// subscriber and those declared Recorded.
func (b *Bus) Tables() []schema.Table {
	var tables []schema.Table
	for _, c := range b.sorted() {
		if c.stores() {
			tables = append(tables, c.store.tables...)
		}
	}
	return tables
}

// Target returns what a handle of the type reaches.
func (t *Type) Target() access.Target {
	return access.Target{Kind: access.KindEvent, Type: t.decl.Input}
}

var errNotStarted = fmt.Errorf("the app has not started: %w", access.ErrNotRunning)

// Operation returns emit and the history of events of t as the runtime delivers
// them.
func (b *Bus) Operation(t *Type) access.Operation {
	return func(ctx context.Context, in any) (any, error) {
		if asked, ok := in.(*historyQuery); ok {
			return b.history(ctx, t, asked)
		}
		e, ok := in.(*emission)
		if !ok {
			return nil, fmt.Errorf("emit %s: called without an emitter", t.decl.Identity)
		}
		if err := b.emit(ctx, e); err != nil {
			return nil, fmt.Errorf("emit %s: %w", t.decl.Identity, err)
		}
		return nil, nil
	}
}

// Load reads the events of one type with these identities on q; an identity
// without a row is missing from the result, an event that cannot be rebuilt has
// its Err set.
func (b *Bus) Load(ctx context.Context, q persistence.Querier, typ *Type, ids []uuid.UUID) (map[uuid.UUID]Stored, error) {
	c, ok := b.types[typ.decl.Input]
	if !ok {
		return nil, fmt.Errorf("%v: %w", typ.decl.Input, errNotDeclared)
	}
	return c.store.read(ctx, q, ids)
}
