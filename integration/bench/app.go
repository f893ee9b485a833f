package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
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

// Place emits Times events, of orders that follow one another; with Business it
// writes the business row as well.
type Place struct {
	OrderID  int64
	Times    int
	Business bool
}

type placeDeps struct{ Placed events.Emitter[OrderPlaced] }

// setup says what app to start.
type setup struct {
	url, listen string // the database, and where to listen for notifications
	listeners   int
	first       int // number of the first listener
	workers     int
	publishOnly bool
	policy      []events.ListenerOption
	idle        bool              // listeners do nothing; else they write the effect row
	poison      int64             // every so manieth order fails its listener for good; 0: none
	started     func(OrderPlaced) // called when a listener starts
	wrap        func(driver.Connector) driver.Connector
}

// app is the measured app.
type app struct {
	setup
	fx        *fx.App
	db        *sqlx.DB
	place     usecase.Action[Place]
	delivered atomic.Int64 // listeners that succeeded or failed for good; a group that runs again counts again
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
	for n := range self.Input.Times {
		if err := self.Deps.Placed.Emit(ctx, OrderPlaced{self.Input.OrderID + int64(n), "customer", 100, "EUR"}); err != nil {
			return err
		}
	}
	return nil
}

var errPoison = errors.New("the listener cannot book this order")

func (a *app) book(ctx context.Context, self events.Self[OrderPlaced, struct{}]) error {
	if a.started != nil {
		a.started(self.Event)
	}
	if a.poison > 0 && self.Event.OrderID%a.poison == 0 {
		a.delivered.Add(1)
		return errPoison
	}
	if !a.idle {
		if _, err := self.Tx.ExecContext(ctx, effectSQL, self.Event.OrderID, "x"); err != nil {
			return err
		}
	}
	a.delivered.Add(1)
	return nil
}

// listenerName is the identity of a listener.
func listenerName(n int) string { return fmt.Sprintf("bench.billing.Book%d", n) }

// module declares the app.
func (a *app) module() fx.Option {
	opts := []fx.Option{
		events.Declare[OrderPlaced]("bench.orders.OrderPlaced", events.Recorded()),
		usecase.DeclareAction("bench.orders.Place", a.doPlace),
	}
	for n := range a.listeners {
		opts = append(opts, events.Deferred(listenerName(a.first+n), a.book, a.policy...))
	}
	return kernel.Module("bench", opts...)
}

// at is the setup on a database of the server, which is made if there is none.
func (u setup) at(ctx context.Context, s server, name string) (setup, error) {
	ddl, err := kernel.DDL((&app{setup: u}).module())
	if err != nil {
		return u, err
	}
	db, err := s.database(ctx, name, 1, append(ddl, appDDL...)...)
	if err != nil {
		return u, err
	}
	u.url, u.listen = s.TCPURL(name), s.TCPURL(name)
	return u, db.Close()
}

// start starts the app on the database of its setup.
func (u setup) start(ctx context.Context) (*app, error) {
	a := &app{setup: u}
	var err error
	if a.fx, a.db, err = startKernel(ctx, u, a.module(), fx.Populate(&a.place)); err != nil {
		return nil, err
	}
	return a, nil
}

// startKernel starts a kernel with the modules of an app.
func startKernel(ctx context.Context, u setup, modules ...fx.Option) (*fx.App, *sqlx.DB, error) {
	db, err := openPool(u.url, u.workers+8, u.wrap)
	if err != nil {
		return nil, nil, err
	}
	opts := []kernel.Option{
		kernel.Database(db), kernel.Listen(u.listen), kernel.Logger(slog.New(slog.DiscardHandler)),
		kernel.Delivery(func(c *delivery.Config) { c.Workers = u.workers }),
	}
	if u.publishOnly {
		opts = append(opts, kernel.PublishOnly())
	}
	a := fx.New(append(modules, kernel.Options(opts...), fx.NopLogger)...)
	if err := a.Err(); err != nil {
		return nil, nil, err
	}
	return a, db, a.Start(ctx)
}

func (a *app) stop(ctx context.Context) error { return stopKernel(ctx, a.fx, a.db) }

// stopKernel stops what startKernel started.
func stopKernel(ctx context.Context, a *fx.App, db *sqlx.DB) error {
	if err := a.Stop(ctx); err != nil {
		return err
	}
	return db.Close()
}

// finished says whether no job is left to run. It is asked when all have started.
func finished(db *sqlx.DB) (ok bool, err error) {
	err = db.Get(&ok, `SELECT NOT EXISTS (SELECT FROM tidings.delivery WHERE state IN ('READY', 'CLAIMED', 'WAITING'))`)
	return ok, err
}

// emptied are the tables of an app that a run begins without.
const emptied = `TRUNCATE biz, effect, tidings.delivery, tidings.delivery_history, "bench.orders"."@event:OrderPlaced"`

// backlog leaves jobs that nobody delivers yet, and nothing else.
func (u setup) backlog(ctx context.Context, jobs int) error {
	const chunk = 1000
	u.publishOnly, u.workers = true, 2
	a, err := u.start(ctx)
	if err != nil {
		return err
	}
	if err := execute(ctx, a.db, emptied); err != nil {
		return err
	}
	for n := 0; n < jobs; n += chunk {
		if err := a.place.Execute(ctx, Place{OrderID: int64(n), Times: min(chunk, jobs-n)}); err != nil {
			return err
		}
	}
	if err := execute(ctx, a.db, `VACUUM ANALYZE`, `CHECKPOINT`); err != nil {
		return err
	}
	return a.stop(ctx)
}

// drain publishes jobs with nobody there to deliver them, and measures the node
// that then does.
func (s server) drain(ctx context.Context, u setup, jobs int) ([]float64, error) {
	const name = "tidings"
	u, err := u.at(ctx, s, name)
	if err != nil {
		return nil, err
	}
	if err := u.backlog(ctx, jobs); err != nil {
		return nil, err
	}
	node, err := u.start(ctx)
	if err != nil {
		return nil, err
	}
	figures, err := s.worked(ctx, jobs, node.delivered.Load, func() (bool, error) { return finished(node.db) })
	if err != nil {
		return nil, err
	}
	if err := node.stop(ctx); err != nil {
		return nil, err
	}
	failed, effects := 0, jobs
	if u.poison > 0 {
		failed = (jobs + int(u.poison) - 1) / int(u.poison)
	}
	if u.idle {
		effects = failed
	}
	return figures, s.verify(ctx, name, `SELECT (SELECT count(*) FROM effect) = $1
		AND (SELECT count(*) FROM tidings.delivery WHERE state = 'COMPLETED') = $2
		AND (SELECT count(*) FROM tidings.delivery WHERE state = 'FAILED') = $3`, effects-failed, jobs-failed, failed)
}
