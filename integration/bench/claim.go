package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/tidings-go/tidings/events"
)

// claimScenario: how long a claim takes, whatever else is in the table of jobs.
// Measured is the kernel's own statement in a node at work, see spy.
func claimScenario(s server, o options) scenario {
	few, many, most := number(float64(o.few)), number(float64(o.many)), number(float64(o.most))
	listeners := fmt.Sprintf(" of %d listeners", o.listeners)
	c := scenario{
		name: "claim", about: "A claim of ready jobs, in a node at work: 2 workers, groups of 16, a listener that does nothing.",
		columns: []string{"p50 ms", "p95 ms", "jobs per claim"}, beside: []base{{few, few + " READY"}},
	}
	for _, b := range []struct {
		name string
		backlog
	}{
		{few + " READY", backlog{database: "few", listeners: 1, ready: o.few}},
		{many + " READY", backlog{database: "many", listeners: 1, ready: o.many}},
		{many + " READY, " + most + " finished", backlog{database: "most", listeners: 1, ready: o.many, finished: o.most}},
		// The same table: to this node, the million of the one above is blocked.
		{few + " READY, " + most + " finished", backlog{database: "most", listeners: 1, first: 1, ready: o.few}},
		{few + " READY, " + many + " WAITING", backlog{database: "waiting", listeners: 1, ready: o.few, waiting: o.many}},
		{few + " READY, " + many + " BLOCKED", backlog{database: "blocked", listeners: 1, ready: o.few, blocked: o.many}},
		{few + " READY" + listeners, backlog{database: "few-wide", listeners: o.listeners, ready: o.few}},
		{many + " READY" + listeners, backlog{database: "many-wide", listeners: o.listeners, ready: o.many}},
	} {
		c.add(b.name, func(ctx context.Context) ([]float64, error) {
			u, err := b.fill(ctx, s)
			if err != nil {
				return nil, err
			}
			claims, jobs, err := s.claims(ctx, u, b.backlog, func(node *app) (bool, error) {
				return node.delivered.Load() >= int64(o.few/2), nil
			})
			if err != nil {
				return nil, err
			}
			took := milliseconds(claims)
			return []float64{percentile(took, 50), percentile(took, 95), float64(jobs) / float64(len(claims))}, nil
		})
	}
	return c
}

// driftScenario: what dead rows do to claims, with the vacuum that the schema asks
// for, and with a snapshot that keeps it from removing any.
func driftScenario(s server, o options) scenario {
	c := scenario{
		name: "drift", about: "The first and the last sixth of the claims, as in *claim*, of " + o.drift.String() + " of sustained work, " + number(2*float64(o.many)) + " READY jobs at first.",
		columns: []string{"last / first", "p50 ms first", "p50 ms last", "p95 ms first", "p95 ms last", "jobs"}, rounds: 1,
	}
	c.add("drift", func(ctx context.Context) ([]float64, error) { return s.drift(ctx, o, false) })
	c.add("drift, a snapshot held open", func(ctx context.Context) ([]float64, error) { return s.drift(ctx, o, true) })
	return c
}

func (s server) drift(ctx context.Context, o options, held bool) ([]float64, error) {
	b := backlog{database: "drift", listeners: 1, ready: 2 * o.many}
	if err := s.drop(ctx, b.database); err != nil { // the dead rows of another run
		return nil, err
	}
	u, err := b.fill(ctx, s)
	if err != nil {
		return nil, err
	}
	if held {
		db, err := s.database(ctx, b.database, 1)
		if err != nil {
			return nil, err
		}
		defer db.Close()
		release, err := hold(ctx, db)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	var begin time.Time
	claims, jobs, err := s.claims(ctx, u, b, func(node *app) (bool, error) {
		if begin.IsZero() { // the node has started
			begin = time.Now()
		}
		if int(node.delivered.Load()) > b.ready*9/10 {
			return false, errors.New("the backlog is too small for the time")
		}
		return time.Since(begin) >= o.drift, nil
	})
	if err != nil {
		return nil, err
	}
	sixth := (len(claims) + 5) / 6
	first, last := claims[:sixth], claims[len(claims)-sixth:]
	p := func(claims []time.Duration, n float64) float64 { return percentile(milliseconds(claims), n) }
	return []float64{p(last, 50) / p(first, 50), p(first, 50), p(last, 50), p(first, 95), p(last, 95), float64(jobs)}, nil
}

// hold holds a snapshot open.
func hold(ctx context.Context, db *sqlx.DB) (release func(), err error) {
	tx, err := db.BeginTxx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return nil, err
	}
	_, err = tx.ExecContext(ctx, `SELECT`)
	return func() { _ = tx.Rollback() }, err
}

var errNoClaim = errors.New("no claim was seen: does isClaim know its text?")

// claims has a node work until enough is true, and returns how long its claims
// took and how many jobs it ended.
func (s server) claims(ctx context.Context, u setup, b backlog, enough func(*app) (bool, error)) ([]time.Duration, int, error) {
	y := &spy{}
	u.url += "&synchronous_commit=off" // a claim ends with its commit: the disk would hide what the table costs
	u.wrap, u.policy = y.wrap, []events.ListenerOption{events.Grouped(16)}
	node, err := u.start(ctx)
	if err != nil {
		return nil, 0, err
	}
	if err := until(ctx, func() (bool, error) { return enough(node) }); err != nil {
		return nil, 0, err
	}
	claims, jobs := y.seen(), int(node.delivered.Load())
	if len(claims) == 0 {
		return nil, 0, errNoClaim
	}
	if err := node.stop(ctx); err != nil {
		return nil, 0, err
	}
	// What ran at the stop was ended, what was claimed was handed back.
	return claims, jobs, s.verify(ctx, b.database, `SELECT NOT EXISTS (SELECT FROM tidings.delivery WHERE state IN ('CLAIMED', 'FAILED'))
		AND (SELECT count(*) FROM tidings.delivery WHERE state = 'READY' AND listener_id IN (SELECT id FROM tidings.listener WHERE name = ANY ($2))) = $1`,
		b.ready-int(node.delivered.Load()), pq.Array(b.listenerNames(false)))
}
