// Package oracle judges a run of the delivery by SQL over the database alone:
// every event has one job for each of its listeners, every completed job exactly
// one effect and no other job any, every job is terminal or explained, and
// nothing is lost.
package oracle

import (
	"context"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/tidings-go/tidings/persistence/schema"
)

// DDL makes the two tables that the oracle reads beside the app's: publishers
// write a row into publication with every event, listeners one into effect, each
// in the transaction that it belongs to. They have no constraints, since what
// should not be must be seen.
const DDL = `CREATE TABLE publication (event_id uuid, event text);
CREATE TABLE effect (event_id uuid, listener text, attempt integer, pid integer, at timestamptz DEFAULT clock_timestamp());
CREATE INDEX ON publication (event_id);
CREATE INDEX ON effect (event_id, listener);`

// Publication and Effect are the statements that write to them: the event's
// identity and type; the event's identity, the listener, attempt and process.
const (
	Publication = `INSERT INTO publication (event_id, event) VALUES ($1, $2)`
	Effect      = `INSERT INTO effect (event_id, listener, attempt, pid) VALUES ($1, $2, $3, $4)`
)

// Spec is what should have happened.
type Spec struct {
	// Framework is the schema of the framework's tables; default tidings.
	Framework string
	// Subscribers are the deferred listeners of each event type.
	Subscribers map[string][]string
	// Unfinished allows jobs that are neither completed nor failed.
	Unfinished bool
}

// Verdict is a list of what is wrong.
type Verdict []string

// Judge returns what is wrong, at most twenty of each kind; nothing if all is
// right.
func Judge(ctx context.Context, db sqlx.QueryerContext, s Spec) (Verdict, error) {
	if s.Framework == "" {
		s.Framework = "tidings"
	}
	var v Verdict
	for event, listeners := range s.Subscribers {
		if err := v.ask(ctx, db, lostEvents(event)); err != nil {
			return nil, err
		}
		for _, l := range listeners {
			if err := v.ask(ctx, db, jobsOf(s.Framework, event, l)); err != nil {
				return nil, err
			}
		}
	}
	for _, q := range general {
		if err := v.ask(ctx, db, strings.ReplaceAll(q, "tidings.", schema.Quote(s.Framework)+".")); err != nil {
			return nil, err
		}
	}
	if s.Unfinished {
		return v, nil
	}
	err := v.ask(ctx, db, strings.ReplaceAll(unfinished, "tidings.", schema.Quote(s.Framework)+"."))
	return v, err
}

func (v *Verdict) ask(ctx context.Context, db sqlx.QueryerContext, query string) error {
	var found []string
	if err := sqlx.SelectContext(ctx, db, &found, query+"\nLIMIT 20"); err != nil {
		return fmt.Errorf("ask the oracle: %w: %s", err, query)
	}
	*v = append(*v, found...)
	return nil
}

// eventTable is where events of a type are stored.
func eventTable(event string) string {
	dot := strings.LastIndexByte(event, '.')
	return schema.Qualified(event[:dot], "@event:"+event[dot+1:])
}

func text(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// lostEvents finds publications without their event, and the reverse.
func lostEvents(event string) string {
	return fmt.Sprintf(`SELECT format('event %%s of %%s: %%s published, %%s stored', id, %[1]s, coalesce(p.n, 0), coalesce(e.n, 0))
FROM (SELECT event_id AS id, count(*) AS n FROM publication WHERE event = %[1]s GROUP BY 1) p
FULL JOIN (SELECT "id", count(*) AS n FROM %[2]s GROUP BY 1) e USING (id)
WHERE p.n IS DISTINCT FROM 1 OR e.n IS DISTINCT FROM 1`, text(event), eventTable(event))
}

// jobsOf finds events that do not have exactly one original job for a listener.
func jobsOf(framework, event, listener string) string {
	return fmt.Sprintf(`SELECT format('event %%s has %%s jobs for %%s', e."id", count(j.id), %[2]s)
FROM %[3]s e LEFT JOIN %[1]s.jobs j ON j.event_id = e."id" AND j.listener = %[2]s AND j.replay = 0
GROUP BY e."id" HAVING count(j.id) <> 1`, schema.Quote(framework), text(listener), eventTable(event))
}
