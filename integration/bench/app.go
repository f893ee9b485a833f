package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/jmoiron/sqlx"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/usecase"
)

// OrderPlaced is the event of the bench: as wide as a usual one.
type OrderPlaced struct {
	OrderID  int64
	Customer string
	Amount   int64
	Currency string
}

// Place emits Times events for one order; with Business it writes the business
// row as well.
type Place struct {
	OrderID  int64
	Times    int
	Business bool
}

type placeDeps struct{ Placed events.Emitter[OrderPlaced] }

// app is the measured app. Its listeners write the effect row.
type app struct {
	fx        *fx.App
	db        *sqlx.DB
	place     usecase.Action[Place]
	delivered atomic.Int64
	started   func(OrderPlaced) // called when a listener starts
}

const (
	businessSQL = `INSERT INTO biz (customer, amount, note) VALUES ($1, $2, $3)`
	effectSQL   = `INSERT INTO effect (job_id, note) VALUES ($1, $2)`
)

var appDDL = floorDDL[:2]

func (a *app) doPlace(ctx context.Context, self access.Self[Place, placeDeps]) error {
	if self.Input.Business {
		if _, err := self.Tx.ExecContext(ctx, businessSQL, self.Input.OrderID, int64(100), "x"); err != nil {
			return err
		}
	}
	for range self.Input.Times {
		if err := self.Deps.Placed.Emit(ctx, OrderPlaced{self.Input.OrderID, "customer", 100, "EUR"}); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) book(ctx context.Context, self events.Self[OrderPlaced, struct{}]) error {
	if a.started != nil {
		a.started(self.Event)
	}
	if _, err := self.Tx.ExecContext(ctx, effectSQL, self.Event.OrderID, "x"); err != nil {
		return err
	}
	a.delivered.Add(1)
	return nil
}

// module declares the app with a number of deferred listeners.
func (a *app) module(listeners int) fx.Option {
	opts := []fx.Option{
		events.Declare[OrderPlaced]("bench.orders.OrderPlaced", events.Recorded()),
		usecase.DeclareAction("bench.orders.Place", a.doPlace),
	}
	for n := range listeners {
		opts = append(opts, events.Deferred(fmt.Sprintf("bench.billing.Book%d", n), a.book))
	}
	return kernel.Module("bench", opts...)
}

// startApp starts the app on a database of its own.
func (s server) startApp(ctx context.Context, name string, listeners, workers int, started func(OrderPlaced), more ...kernel.Option) (*app, error) {
	a := &app{started: started}
	module := a.module(listeners)
	ddl, err := kernel.DDL(module)
	if err != nil {
		return nil, err
	}
	if a.db, err = s.database(ctx, name, workers+8, append(ddl, appDDL...)...); err != nil {
		return nil, err
	}
	opts := append(more, kernel.Database(a.db), kernel.Listen(s.TCPURL(name)), kernel.Delivery(func(c *delivery.Config) { c.Workers = workers }))
	a.fx = fx.New(kernel.Options(opts...), module, fx.Populate(&a.place), fx.NopLogger)
	if err := a.fx.Err(); err != nil {
		return nil, err
	}
	return a, a.fx.Start(ctx)
}

func (a *app) stop(ctx context.Context) error {
	if err := a.fx.Stop(ctx); err != nil {
		return err
	}
	return a.db.Close()
}
