package main

import (
	"context"
	"sync/atomic"
	"time"

	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/usecase"
)

// Events of several shapes.
type (
	// Narrow has 3 columns.
	Narrow struct {
		ID, Amount int64
		Note       string
	}
	// Wide has 30 columns.
	Wide struct{ A, B, C ten }
	// Widest has 300 columns.
	Widest struct{ A, B, C, D, E, F, G, H, I, J Wide }
	// Deep has 1,000 rows of a child table.
	Deep struct {
		ID    int64
		Lines []line
	}
	ten struct {
		A, B, C, D, E int64
		F, G, H, I, J string
	}
	line struct {
		Article, Amount int64
		Note            string
	}
)

// shapeScenario: what the width of an event costs.
func shapeScenario(s server, o options) scenario {
	const threeColumns = "3 columns"
	c := scenario{
		name: "shape", about: "Events of several shapes: one in a transaction, 8 publishers; then a node with 8 workers and a listener that does nothing.",
		columns: []string{"emitted/s", "delivered/s", "CPU µs per emit", "CPU µs per delivery"}, beside: []base{{threeColumns, threeColumns}},
	}
	t := ten{1, 2, 3, 4, 5, "one", "two", "three", "four", "five"}
	w := Wide{t, t, t}
	addShape(&c, s, o, threeColumns, Narrow{1, 100, "note"})
	addShape(&c, s, o, "30 columns", w)
	addShape(&c, s, o, "300 columns", Widest{w, w, w, w, w, w, w, w, w, w})
	addShape(&c, s, o, "1,000 child rows", Deep{1, lines(1000)})
	return c
}

func lines(n int) []line {
	all := make([]line, n)
	for i := range all {
		all[i] = line{int64(i), 100, "note"}
	}
	return all
}

// addShape adds an event type as a contender.
func addShape[E any](c *scenario, s server, o options, name string, fact E) {
	c.add(name, func(ctx context.Context) ([]float64, error) { return measureShape(ctx, s, o, fact) })
}

// reportFact reports a fact of the shape E.
type reportFact[E any] struct{ Fact E }

type reportFactDeps[E any] struct{ Reported events.Emitter[E] }

func doReport[E any](ctx context.Context, self access.Self[reportFact[E], reportFactDeps[E]]) error {
	return self.Deps.Reported.Emit(ctx, self.Input.Fact)
}

func measureShape[E any](ctx context.Context, s server, o options, fact E) ([]float64, error) {
	const name = "shape"
	var delivered atomic.Int64
	module := kernel.Module("bench",
		events.Declare[E]("bench.shapes.Reported"),
		usecase.DeclareAction("bench.shapes.Report", doReport[E]),
		events.Deferred("bench.shapes.Read", func(context.Context, events.Self[E, struct{}]) error {
			delivered.Add(1)
			return nil
		}),
	)
	if err := s.drop(ctx, name); err != nil {
		return nil, err
	}
	ddl, err := kernel.DDL(module)
	if err != nil {
		return nil, err
	}
	db, err := s.database(ctx, name, 1, ddl...)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	u := setup{url: s.TCPURL(name), listen: s.TCPURL(name), workers: 8}
	emitted, n, err := emitShape(ctx, s, u, module, fact, o.seconds)
	if err != nil {
		return nil, err
	}
	if err := execute(ctx, db, `VACUUM ANALYZE`, `CHECKPOINT`); err != nil {
		return nil, err
	}
	node, pool, err := startKernel(ctx, u, module)
	if err != nil {
		return nil, err
	}
	read, err := s.worked(ctx, n, delivered.Load, func() (bool, error) { return finished(db) })
	if err != nil {
		return nil, err
	}
	if err := stopKernel(ctx, node, pool); err != nil {
		return nil, err
	}
	return []float64{emitted[0], read[0], emitted[1], read[1]}, s.verify(ctx, name, `SELECT (SELECT count(*) FROM tidings.delivery WHERE state = 'COMPLETED') = $1
		AND (SELECT count(*) FROM "bench.shapes"."@event:Reported") = $1`, n)
}

// emitShape has publishers report the fact for a time. It returns the figures and
// how often they did.
func emitShape[E any](ctx context.Context, s server, u setup, module fx.Option, fact E, d time.Duration) ([]float64, int, error) {
	u.publishOnly = true
	var do usecase.Action[reportFact[E]]
	publisher, pool, err := startKernel(ctx, u, module, fx.Populate(&do))
	if err != nil {
		return nil, 0, err
	}
	figures, n, err := s.publish(d, func(int64) error { return do.Execute(ctx, reportFact[E]{fact}) })
	if err != nil {
		return nil, 0, err
	}
	return figures, n, stopKernel(ctx, publisher, pool)
}
