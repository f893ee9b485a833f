package main

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
)

// backlog is what a node finds: how many jobs of which state.
type backlog struct {
	database  string
	listeners int // of the node, which share the ready jobs
	first     int // number of the first of them
	ready     int
	finished  int
	waiting   int // for an hour
	blocked   int // ready, of a listener that no node has
}

// setup is the node that finds the backlog.
func (b backlog) setup() setup {
	return setup{listeners: b.listeners, first: b.first, workers: 2, idle: true}
}

// listenerNames are those of the node, or the one that no node has.
func (b backlog) listenerNames(blocked bool) []string {
	if blocked {
		return []string{listenerName(b.first + b.listeners)}
	}
	names := make([]string, b.listeners)
	for n := range names {
		names[n] = listenerName(b.first + n)
	}
	return names
}

// fill makes the backlog, or what of it is not there any more, and returns the
// setup of its node. Only ready jobs have events: nobody reads those of others.
func (b backlog) fill(ctx context.Context, s server) (setup, error) {
	all := b.setup()
	all.listeners, all.first, all.publishOnly = b.first+b.listeners+1, 0, true
	all, err := all.at(ctx, s, b.database)
	if err != nil {
		return all, err
	}
	a, err := all.start(ctx) // gives the listeners their numbers
	if err != nil {
		return all, err
	}
	for _, part := range []struct {
		state   string
		jobs    int
		blocked bool
	}{
		{"COMPLETED", b.finished, false},
		{"WAITING", b.waiting, false},
		{"READY", b.blocked, true},
		{"READY", b.ready, false},
	} {
		if err := topUp(ctx, a.db, part.state, part.jobs, b.listenerNames(part.blocked), !part.blocked); err != nil {
			return all, err
		}
	}
	if err := execute(ctx, a.db, `VACUUM (ANALYZE) tidings.delivery`, `CHECKPOINT`); err != nil {
		return all, err
	}
	if err := a.stop(ctx); err != nil {
		return all, err
	}
	return b.setup().at(ctx, s, b.database)
}

const (
	countSQL = `SELECT count(*) FROM (SELECT FROM tidings.delivery
		WHERE state = $1 AND listener_id IN (SELECT id FROM tidings.listener WHERE name = ANY ($2)) LIMIT $3) jobs`

	lastSQL = `SELECT coalesce(max(id), 0) FROM tidings.delivery`

	// numberedSQL makes event ids that rise, as those that the kernel makes do.
	numberedSQL = `('00000000-0000-7000-8000-' || lpad(to_hex($1::bigint + g), 12, '0'))::uuid`

	eventsSQL = `INSERT INTO "bench.orders"."@event:OrderPlaced" (id, "@occurredAt", "@correlation", "OrderID", "Customer", "Amount", "Currency")
		SELECT ` + numberedSQL + `, now(), 'bench', $1::bigint + g, 'customer', 100, 'EUR' FROM generate_series(1, $2::bigint) g`

	jobsSQL = `INSERT INTO tidings.delivery (event_type_id, event_id, listener_id, state, attempts, due_at, first_attempt_at, last_attempt_at, completed_at)
		SELECT l.event_type, ` + numberedSQL + `, l.ids[1 + g % cardinality(l.ids)], $3::text, tried.n,
			now() + CASE WHEN $3::text = 'WAITING' THEN interval '1 hour' ELSE interval '0' END, tried.at, tried.at,
			CASE WHEN $3::text = 'COMPLETED' THEN now() END
		FROM (SELECT array_agg(id ORDER BY id) AS ids, min(event_type_id) AS event_type FROM tidings.listener WHERE name = ANY ($4)) l
		CROSS JOIN (SELECT CASE WHEN $3::text = 'READY' THEN 0 ELSE 1 END AS n, CASE WHEN $3::text <> 'READY' THEN now() END AS at) tried
		CROSS JOIN generate_series(1, $2::bigint) g`
)

// topUp adds jobs of a state until there are that many.
func topUp(ctx context.Context, db *sqlx.DB, state string, jobs int, listeners []string, events bool) error {
	if jobs == 0 {
		return nil
	}
	var have, last int
	if err := db.GetContext(ctx, &have, countSQL, state, pq.Array(listeners), jobs); err != nil {
		return err
	}
	if have >= jobs {
		return nil
	}
	if err := db.GetContext(ctx, &last, lastSQL); err != nil {
		return err
	}
	if events && state == "READY" {
		if _, err := db.ExecContext(ctx, eventsSQL, last, jobs-have); err != nil {
			return fmt.Errorf("fill events: %w", err)
		}
	}
	if _, err := db.ExecContext(ctx, jobsSQL, last, jobs-have, state, pq.Array(listeners)); err != nil {
		return fmt.Errorf("fill jobs: %w", err)
	}
	return nil
}
