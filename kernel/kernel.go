package kernel

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/jmoiron/sqlx"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/boot"
	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/observability"
	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/persistence/pgserver"
	"github.com/tidings-go/tidings/persistence/schema"
	"github.com/tidings-go/tidings/usecase"
)

// kernel is everything that one app shares.
type kernel struct {
	*settings
	config  boot.Config
	runtime *access.Runtime
	pool    *sqlx.DB
	late    *boot.Pool // the kernel's own pool, or nil
	db      *persistence.Database
	plans   *events.Plans
	bus     *events.Bus
	engine  *delivery.Engine // nil where nothing is delivered
	notify  *delivery.Notifier
	admin   *boot.Admin      // nil where nothing is served
	dev     *pgserver.Server // while it runs
	started atomic.Bool      // from the end of the start to the begin of the stop

	instruments *observability.Instruments
}

// core is the kernel as an fx option: what every app has once.
func core() fx.Option {
	return fx.Options(
		fx.Decorate(func(lc fx.Lifecycle) fx.Lifecycle { return boot.NewHooks(lc) }),
		fx.Provide(collect, assemble, func(k *kernel) *access.Runtime { return k.runtime }),
		fx.Invoke(func(in access.DeclaredIn, graph fx.DotGraph, k *kernel) error {
			return k.discardOn(check(in, graph, k))
		}, func(k *kernel, in access.BoundIn, declared access.DeclaredIn) error {
			return k.discardOn(connect(k, in, declared))
		}),
	)
}

// discard closes the kernel's own pool; a start opens it again.
func (k *kernel) discard() {
	if k.late != nil {
		_ = k.late.Close() // an error means a lost connection
	}
}

// discardOn discards the kernel of an app that cannot be assembled.
func (k *kernel) discardOn(err error) error {
	if err != nil {
		k.discard()
	}
	return err
}

// assemble makes the kernel and appends its hook. Everything that holds a handle
// is constructed after it, so its hook starts first and stops last; delivery
// starts after all hooks and stops before them.
func assemble(s *settings, mappings persistence.MappingsIn, lc fx.Lifecycle, given fromContainer) (*kernel, error) {
	k := &kernel{settings: s, runtime: access.NewRuntime()}
	k.instrument(given)
	if err := k.configure(); err != nil {
		return nil, err
	}
	k.openPool()
	var prepared []persistence.Option
	if k.config.PgBouncer {
		prepared = append(prepared, persistence.WithoutPreparedStatements())
	}
	k.db = persistence.New(k.pool, prepared...)
	k.plans = events.NewPlans(mappings.Registrations...)
	k.bus = events.NewBus(k.db, k.config.Delivery.Schema, slices.Concat(s.bus, k.instruments.BusOptions(), []events.BusOption{events.WithPlans(k.plans)})...)
	lc.Append(fx.Hook{OnStart: k.start, OnStop: k.stop})
	if hooks, ok := lc.(*boot.Hooks); ok {
		hooks.Last(k.startLast, k.stopFirst)
	}
	return k, nil
}

// addTypes adds the declared event types to a bus.
func (k *kernel) addTypes(bus *events.Bus, declared []access.Declared) error {
	for _, t := range eventTypes(declared) {
		if err := bus.AddType(t); err != nil {
			return err
		}
	}
	return nil
}

// eventTypes returns the declared event types in the order of their places.
func eventTypes(declared []access.Declared) []*events.Type {
	var types []*events.Type
	for _, d := range declared {
		if t, ok := d.(*events.Type); ok {
			types = append(types, t)
		}
	}
	slices.SortFunc(types, func(a, b *events.Type) int { return byPlace(a.Declaration(), b.Declaration()) })
	return types
}

// checkModel reports what is wrong with the model of all the app's tables, where
// each type's own are free of problems.
func (k *kernel) checkModel(declared []access.Declared) error {
	probe := events.NewBus(k.db, k.config.Delivery.Schema, events.WithPlans(k.plans))
	if err := k.addTypes(probe, declared); err != nil {
		return err
	}
	for _, d := range declared {
		if l, ok := d.(*events.Listener); ok {
			if err := probe.Subscribe(l, nil); err != nil {
				return err
			}
		}
	}
	return model(probe, k.config.Delivery.Schema).Validate()
}

func model(bus *events.Bus, framework string) schema.Model {
	return schema.Merge(delivery.FrameworkModel(framework), schema.Model{Tables: bus.Tables()})
}

// connect binds the handles to the operations. It runs after check.
func connect(k *kernel, in access.BoundIn, declared access.DeclaredIn) error {
	if err := k.addTypes(k.bus, declared.Declared); err != nil {
		return err
	}
	for _, b := range in.Bound {
		switch d := b.Declared.(type) {
		case *usecase.Definition:
			k.runtime.Bind(d.Target(), k.instruments.Operation(d.Declaration(), k.running(d.Operation(k.db, b.Deps))))
		case *events.Listener:
			if err := k.bus.Subscribe(d, b.Deps); err != nil {
				return err
			}
		}
	}
	for _, d := range declared.Declared {
		if t, ok := d.(*events.Type); ok {
			k.runtime.Bind(t.Target(), k.instruments.Operation(t.Declaration(), k.bus.Operation(t)))
		}
	}
	if err := k.deliver(); err != nil {
		return err
	}
	return k.observe(declared.Declared)
}

// running lets operations pass while the app runs: before, its database is not
// known to fit.
func (k *kernel) running(op access.Operation) access.Operation {
	return func(ctx context.Context, in any) (any, error) {
		if !k.bus.IsOpen() {
			return nil, fmt.Errorf("the app has not started: %w", access.ErrNotRunning)
		}
		return op(ctx, in)
	}
}

// deliver makes what runs after commits: the notifier in every process, the
// engine unless the process only publishes.
func (k *kernel) deliver() (err error) {
	k.notify = delivery.NewNotifier(k.db, k.config.Delivery)
	if !k.publishOnly {
		if k.engine, err = delivery.New(k.db, k.bus, k.config.Delivery); err != nil {
			return err
		}
	}
	k.bus.OnStored(func([]int32) {
		if k.engine != nil {
			k.engine.Wake()
		}
		k.notify.Notify()
	})
	return nil
}
