//go:build unix

package lab

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/jmoiron/sqlx"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/usecase"
)

// Node is one process's part of the lab: an fx app with a pool of its own.
type Node struct {
	App     *fx.App
	Pool    *sqlx.DB
	Publish usecase.Action[Publish]
	stop    sync.Once
	stopErr error
}

// startTimeout bounds start and stop on a loaded machine.
const startTimeout = time.Minute

// Open assembles and starts a node on a database. Intervals that the plan leaves
// open are short.
func Open(url string, p Plan, log *slog.Logger) (*Node, error) {
	p = chosen.on(p)
	d := quick(p.Delivery)
	dsn, err := p.dsn(url)
	if err != nil {
		return nil, err
	}
	pool, err := sqlx.Open(p.Driver, dsn)
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(d.Connections() + 10)
	pool.SetMaxIdleConns(d.Connections() + 10)
	if p.Connections > 0 {
		pool.SetMaxOpenConns(p.Connections)
		pool.SetMaxIdleConns(p.Connections)
	}
	n := &Node{Pool: pool}
	n.App = fx.New(
		kernel.Options(kernel.Database(pool), kernel.Logger(log), kernel.Delivery(func(c *delivery.Config) { *c = d })),
		p.Module(), fx.Populate(&n.Publish), fx.StopTimeout(startTimeout),
		fx.WithLogger(func() fxevent.Logger { return fxevent.NopLogger }),
	)
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := n.App.Start(ctx); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return n, nil
}

// quick fills in intervals for tests.
func quick(c delivery.Config) delivery.Config {
	if c.Workers == 0 {
		c.Workers = 4
	}
	if c.Poll == 0 {
		c.Poll = 50 * time.Millisecond
	}
	if c.Maintenance == 0 {
		c.Maintenance = 50 * time.Millisecond
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = time.Second
	}
	return c.WithDefaults()
}

// Start opens a node in a test and stops it at its end.
func Start(t testing.TB, url string, p Plan) *Node {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	n, err := Open(url, p, log)
	if err != nil {
		t.Fatalf("start node: %v", err)
	}
	t.Cleanup(func() {
		if err := n.Stop(); err != nil {
			t.Errorf("stop node: %v", err)
		}
	})
	return n
}

// Stop stops the node and closes its pool; again does nothing.
func (n *Node) Stop() error {
	n.stop.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		n.stopErr = n.App.Stop(ctx)
		_ = n.Pool.Close() // an error means a connection that was lost before
	})
	return n.stopErr
}

// Put publishes tasks with these orders in one transaction, numbered from from.
// "A: fail 2" is an order for the listener A alone.
func (n *Node) Put(t testing.TB, from int64, orders ...string) {
	t.Helper()
	p := tasks(from, orders)
	if err := n.Publish.Execute(context.Background(), p); err != nil {
		t.Fatalf("publish: %v", err)
	}
}

func tasks(from int64, orders []string) (p Publish) {
	for i, o := range orders {
		only, do, found := strings.Cut(o, ": ")
		if !found {
			only, do = "", o
		}
		p.Tasks = append(p.Tasks, Task{Seq: from + int64(i), Do: do, Only: only})
	}
	return p
}

// PutMany publishes n tasks without orders, numbered from from, in one
// transaction.
func (n *Node) PutMany(t testing.TB, from, count int64) {
	t.Helper()
	n.Put(t, from, make([]string, count)...)
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "child:", err)
	os.Exit(98)
}
