package kernel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/boot"
	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/observability"
)

// fromContainer is what the app may provide to be observed with.
type fromContainer struct {
	fx.In
	Registry *prometheus.Registry `optional:"true"`
	Tracing  trace.TracerProvider `optional:"true"`
}

// instrument makes the instruments: with what options of the kernel say, then
// with what the container has.
func (k *kernel) instrument(given fromContainer) {
	if k.registry == nil {
		k.registry = given.Registry
	}
	if k.tracing == nil {
		k.tracing = given.Tracing
	}
	k.instruments = observability.NewInstruments(k.tracing)
}

// observe registers the metrics and makes the admin endpoint.
func (k *kernel) observe(declared []access.Declared) error {
	if k.registry == nil {
		k.registry = prometheus.NewRegistry()
		k.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	reader := delivery.NewBacklogReader(k.db, k.config.Delivery.Schema)
	k.instruments.Declare(declared, observability.Source{
		Workers: k.workers, Up: k.up,
		Backlog: func(ctx context.Context) (delivery.Backlog, error) {
			if !k.bus.IsOpen() {
				return delivery.Backlog{}, errNotStarted
			}
			return reader.Read(ctx)
		},
	})
	if err := k.registry.Register(k.instruments); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	if k.settings.admin && k.config.AdminAddr != boot.Off {
		k.admin = boot.NewAdmin(k.config.AdminAddr, k.registry, k.health().Ready, k.logger)
	}
	return nil
}

// startLast is the last step of a start, stopFirst the first of a stop.
func (k *kernel) startLast(ctx context.Context) error {
	if err := k.startDelivery(ctx); err != nil {
		return err
	}
	k.started.Store(true)
	return nil
}

func (k *kernel) stopFirst(ctx context.Context) error {
	k.started.Store(false)
	return k.stopDelivery(ctx)
}

func (k *kernel) workers() (busy, all int) {
	if k.engine == nil {
		return 0, 0
	}
	return k.engine.Workers()
}

var errNotStarted = errors.New("the app has not started, or is stopping")

// up says why the process does not do its work as far as it knows without asking
// the database.
func (k *kernel) up() error {
	if !k.started.Load() {
		return errNotStarted
	}
	if k.engine != nil {
		return k.engine.Ready()
	}
	return nil
}

// schemaEvery is how often /readyz compares the schema: that reads the catalogs.
const schemaEvery = 10 * time.Second

// health is what /readyz asks.
func (k *kernel) health() *observability.Health {
	return observability.NewHealth(
		observability.Check{Name: "process", Run: func(context.Context) error { return k.up() }},
		observability.Check{Run: k.writable},
		observability.Check{Name: "schema", Every: schemaEvery, Run: func(ctx context.Context) error {
			return k.compare(ctx, model(k.bus, k.config.Delivery.Schema))
		}},
	)
}

// writable says why the process cannot write to the database, or nil.
func (k *kernel) writable(ctx context.Context) error {
	readOnly, err := k.reach(ctx)
	if err == nil && readOnly {
		err = errors.New("database read-only: it is a standby, or default_transaction_read_only is set")
	}
	return err
}

// reach asks the database whether it is read-only. A ping would not do: it takes
// a connection that went stale in the pool for a database that is down (tried).
func (k *kernel) reach(ctx context.Context) (readOnly bool, err error) {
	err = k.pool.GetContext(ctx, &readOnly, `SELECT current_setting('transaction_read_only')::boolean`)
	if err != nil {
		return false, fmt.Errorf("database not reached: %w", err)
	}
	return readOnly, nil
}
