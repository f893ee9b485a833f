//go:build unix

package delivery_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/pgproxy"
	"github.com/tidings-go/tidings/usecase"
)

// Contract 9 and 11.
func TestAListenerThatAlwaysFailsTouchesNoOther(t *testing.T) {
	t.Parallel()
	const jobs, attempts = 100, 4
	plan := lab.Plan{Listeners: []lab.Listener{
		{Name: "A", MaxAttempts: attempts, First: time.Millisecond}, {Name: "B"},
	}}
	base := lab.NewBase(t, plan)
	node := lab.Start(t, base.URL, plan)
	orders := make([]string, jobs)
	for i := range orders {
		orders[i] = "A: fail 99"
	}
	node.Put(t, 1, orders...)
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Equal(t, jobs, base.Int(`SELECT count(*) FROM tidings.jobs
		WHERE listener = 'lab.delivery.B' AND state = 'COMPLETED' AND attempts = 1 AND last_error IS NULL`))
	require.Equal(t, jobs, base.Int(`SELECT count(*) FROM tidings.jobs
		WHERE listener = 'lab.delivery.A' AND state = 'FAILED' AND reason = 'LISTENER' AND attempts = $1
			AND last_error LIKE '%the event ordered a failure: attempt 4' AND failed_at >= last_attempt_at
			AND first_attempt_at < last_attempt_at`, attempts))
	require.Equal(t, jobs*attempts, base.Int(`SELECT count(*) FROM tidings.delivery_history
		WHERE kind = 'FAILURE' AND NOT late AND error LIKE '%attempt ' || attempt`))
}

func TestAJobThatWaitsForItsRetryDelaysNoOther(t *testing.T) {
	t.Parallel()
	plan := lab.Plan{
		Listeners: []lab.Listener{{Name: "A", First: time.Hour, Longer: time.Hour}},
		Delivery:  delivery.Config{Workers: 1},
	}
	base := lab.NewBase(t, plan)
	node := lab.Start(t, base.URL, plan)
	orders := make([]string, 50)
	for i := range orders[:25] {
		orders[i] = "fail 1"
	}
	node.Put(t, 1, orders...)
	base.Await(`SELECT count(*) = 25 FROM tidings.jobs WHERE state = 'COMPLETED'`)
	base.Await(`SELECT count(*) = 25 FROM tidings.jobs WHERE state = 'WAITING' AND due_at > now() + interval '40 minutes'`)
	spec := plan.Spec()
	spec.Unfinished = true
	base.Judge(spec)
}

// Note is what the lab's relaying listener emits.
type Note struct{ Seq int64 }

type charge struct{ Seq int64 }

// One transaction carries the acknowledgement, the listener, what it emits and
// the usecase that it calls: one BEGIN, no SAVEPOINT.
func TestListenerEmitAndCalledUsecaseShareOneTransaction(t *testing.T) {
	t.Parallel()
	type relayDeps struct {
		Note   events.Emitter[Note]
		Charge usecase.Usecase[charge, int64]
	}
	type none struct{}
	plan := lab.Plan{
		Listeners: []lab.Listener{{Name: "A"}},
		Delivery:  delivery.Config{Poll: time.Hour, Maintenance: time.Hour, Heartbeat: time.Hour},
	}
	plan.More = append(plan.More,
		events.Declare[Note]("lab.delivery.Note"),
		usecase.Declare("lab.delivery.Charge", func(ctx context.Context, self access.Self[charge, none]) (int64, error) {
			return self.Input.Seq * 2, self.Tx.ExecOne(ctx, `INSERT INTO charge VALUES ($1)`, self.Input.Seq)
		}),
		events.Deferred("lab.delivery.Relay", func(ctx context.Context, self events.Self[lab.Task, relayDeps]) error {
			doubled, err := self.Deps.Charge.Execute(ctx, charge(Note{self.Event.Seq}))
			if err != nil {
				return err
			}
			if err := self.Deps.Note.Emit(ctx, Note{doubled}); err != nil {
				return err
			}
			if self.Event.Do == "fail once" && self.Meta.Attempt == 1 {
				return errors.New("after usecase and emit")
			}
			return lab.Effect(ctx, lab.Self{Event: self.Event, Meta: self.Meta, Tx: self.Tx})
		}, events.Backoff(time.Millisecond, time.Millisecond)),
		events.Deferred("lab.delivery.Noted", func(ctx context.Context, self events.Self[Note, none]) error {
			return self.Tx.ExecOne(ctx, `INSERT INTO noted VALUES ($1, $2, $3)`, self.Event.Seq, self.Meta.Causation, self.Meta.Correlation)
		}),
	)
	base := lab.NewBase(t, plan)
	base.Exec(`CREATE TABLE charge (seq bigint); CREATE TABLE noted (seq bigint, causation uuid, correlation text)`)
	proxy := pgproxy.Start(t, base.URL)
	relayed := make(chan []string, 10)
	committed := pgproxy.CommitAfter("INSERT INTO charge")
	proxy.Add(pgproxy.Rule{Match: func(s pgproxy.Statement) bool {
		if committed(s) {
			relayed <- slices.Clone(s.Before)
		}
		return false // it only looks
	}})
	node := lab.Start(t, proxy.URL(), plan)
	node.Put(t, 21, "")
	base.Await(`SELECT count(*) = 1 FROM noted`)
	base.AwaitSettled()
	spec := plan.Spec()
	spec.Subscribers[lab.Event] = append(spec.Subscribers[lab.Event], "lab.delivery.Relay")

	for _, s := range proxy.Statements() {
		require.NotContains(t, strings.ToUpper(s), "SAVEPOINT")
	}
	whole := <-relayed // the relay's transaction
	text := strings.Join(whole, "\n---\n")
	require.True(t, contains(whole, "INSERT INTO charge") && contains(whole, "@event:Note") && contains(whole, "INSERT INTO effect"), text)

	node.Put(t, 50, "fail once")
	base.Await(`SELECT count(*) = 2 FROM noted`)
	require.Equal(t, 2, base.Int(`SELECT count(*) FROM charge`), "the failed attempt's usecase was rolled back")
	require.Equal(t, 2, base.Int(`SELECT count(*) FROM "lab.delivery"."@event:Note"`), "and its event")
	require.Equal(t, 2, base.Int(`SELECT count(*) FROM noted JOIN "lab.delivery"."@event:Task" t ON t.id = causation AND noted.seq = 2 * t."Seq" AND correlation = t.id::text`))
}

func contains(statements []string, part string) bool {
	return strings.Contains(strings.Join(statements, "\n"), part)
}

// typedNil is the classical mistake: a nil pointer in an error, with methods
// that do not expect it.
type typedNil struct{ cause error }

func (e *typedNil) Error() string { return "typed nil: " + e.cause.Error() }
func (e *typedNil) Unwrap() error { return e.cause }

func put(m map[string]int) { m["a"] = 1 }

type mute struct{}

func (mute) Error() string { panic("no words") }

// Contract 11 and 17: whatever a listener does wrong is a failure of its job,
// recorded with its reason, and takes no worker with it, alone or in a group.
func TestEveryWayToFailIsRecorded(t *testing.T) {
	t.Parallel()
	t.Run("alone", func(t *testing.T) { everyWayToFail(t, 0) })
	t.Run("in groups", func(t *testing.T) { everyWayToFail(t, 8) })
}

// A group looks at the errors of its listeners too.
func TestAGroupSurvivesAnErrorWhoseMethodsPanic(t *testing.T) {
	t.Parallel()
	plan := lab.Plan{Delivery: delivery.Config{Workers: 2}}
	plan.Listeners = []lab.Listener{{Name: "A", MaxAttempts: 1, Group: 4, Run: func(ctx context.Context, self lab.Self) error {
		if self.Event.Seq%2 == 0 {
			return (*typedNil)(nil)
		}
		return lab.Effect(ctx, self)
	}}}
	base := lab.NewBase(t, plan)
	lab.Start(t, base.URL, plan).PutMany(t, 1, 100)
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Equal(t, 50, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'FAILED' AND reason = 'LISTENER'`))
}

func everyWayToFail(t *testing.T, group int) {
	t.Parallel()
	control := func(statement string) func(context.Context, lab.Self) error {
		return func(ctx context.Context, self lab.Self) error {
			_, _ = self.Tx.ExecContext(ctx, statement) // swallowed
			_, err := self.Tx.ExecContext(ctx, statement)
			return err
		}
	}
	swallow := func(statement string) func(context.Context, lab.Self) error {
		return func(ctx context.Context, self lab.Self) error {
			_, _ = self.Tx.ExecContext(ctx, statement)
			return nil
		}
	}
	returning := func(err error) func(context.Context, lab.Self) error {
		return func(context.Context, lab.Self) error { return err }
	}
	ways := map[string]struct {
		run    func(context.Context, lab.Self) error
		reason string // part of the recorded text
	}{
		"a swallowed unique violation": {swallow(`INSERT INTO taken VALUES (1)`), "duplicate key value violates unique constraint"},
		"a swallowed syntax error":     {swallow(`SELEKT`), "syntax error"},
		"what follows a swallowed error": {func(ctx context.Context, self lab.Self) error {
			_, _ = self.Tx.ExecContext(ctx, `INSERT INTO taken VALUES (1)`)
			_, err := self.Tx.ExecContext(ctx, `SELECT 1`)
			return err
		}, "duplicate key value violates unique constraint"},
		"ROLLBACK":                  {control(`ROLLBACK`), "transaction control is refused"},
		"COMMIT":                    {control(`COMMIT`), "transaction control is refused"},
		"ROLLBACK AND CHAIN":        {control(`ROLLBACK AND CHAIN`), "transaction control is refused"},
		"COMMIT behind a comment":   {control("/* a /* b */ */ -- c\n ; commit"), "transaction control is refused"},
		"COMMIT behind a statement": {control(`SELECT ';'; END`), "transaction control is refused"},
		"COMMIT in a DO block":      {swallow(`DO $$ BEGIN COMMIT; END $$`), "invalid transaction termination"},
		"an update of no row": {func(ctx context.Context, self lab.Self) error {
			return self.Tx.ExecOne(ctx, `UPDATE taken SET id = 3 WHERE id = 2`)
		}, "did not change exactly one row: 0 rows"},
		"a violation at COMMIT": {swallow(`INSERT INTO late VALUES (1)`), "duplicate key value violates unique constraint"},
		"NUL and broken UTF-8":  {returning(errors.New("a\x00b\xffc\xed\xa0\x80d")), "a\uFFFDb\uFFFDc\uFFFDd"},
		"five megabytes":        {returning(errors.New(strings.Repeat("ä", 5<<19))), "… [cut: "},
		"a panic":               {func(context.Context, lab.Self) error { panic("at the disco") }, "listeners_test.go"},
		"a nil map": {func(context.Context, lab.Self) error {
			put(nil)
			return nil
		}, "assignment to entry in nil map"},
		"Goexit": {func(context.Context, lab.Self) error {
			runtime.Goexit()
			return nil
		}, "runtime.Goexit"},
		"an error that panics": {returning(mute{}), "no words"},
		"a typed nil":          {returning((*typedNil)(nil)), "nil pointer"},
		"the time limit": {func(ctx context.Context, _ lab.Self) error {
			<-ctx.Done()
			return nil
		}, "time limit exceeded"},
		"the time limit in a statement": {func(ctx context.Context, self lab.Self) error {
			_, err := self.Tx.ExecContext(ctx, `SELECT pg_sleep(60)`)
			return err
		}, "time limit exceeded"},
		"rows left open and an error": {func(ctx context.Context, self lab.Self) error {
			rows, err := self.Tx.QueryxContext(ctx, `SELECT generate_series(1, 10000)`)
			if err == nil {
				rows.Next()
			}
			return errors.New("left open")
		}, "left open"},
		"an error in rows that were not looked at": {func(ctx context.Context, self lab.Self) error {
			rows, err := self.Tx.QueryxContext(ctx, `SELECT 1/(50-n) FROM generate_series(1, 100) n`)
			if err != nil {
				return err
			}
			for rows.Next() {
				continue
			}
			return nil
		}, "division by zero"},
	}
	plan := lab.Plan{Delivery: delivery.Config{Workers: 4}}
	plan.Listeners = []lab.Listener{{Name: "A", MaxAttempts: 2, Group: group, First: time.Millisecond, TimeLimit: 3 * time.Second, Run: func(ctx context.Context, self lab.Self) error {
		if err := lab.Effect(ctx, self); err != nil {
			return err
		}
		if way, ok := ways[self.Event.Do]; ok {
			return way.run(ctx, self)
		}
		return nil
	}}}
	base := lab.NewBase(t, plan)
	base.Exec(`CREATE TABLE taken (id integer PRIMARY KEY); INSERT INTO taken VALUES (1);
		CREATE TABLE late (id integer UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO late VALUES (1)`)
	node := lab.Start(t, base.URL, plan)
	var orders []string
	for name := range ways {
		orders = append(orders, name, "")
	}
	node.Put(t, 1, orders...)
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Equal(t, len(ways), base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'COMPLETED'`))
	for name, way := range ways {
		var text, kind string
		row := base.DB.QueryRow(`SELECT coalesce(last_error, ''), coalesce(reason, '') FROM tidings.jobs
			JOIN "lab.delivery"."@event:Task" e ON e.id = event_id WHERE "Do" = $1 AND state = 'FAILED' AND attempts = 2`, name)
		require.NoError(t, row.Scan(&text, &kind), "%s", name)
		require.Contains(t, text, way.reason, "%s", name)
		require.Equal(t, delivery.FailureListener, kind, "%s", name)
		require.Less(t, len(text), 9<<10, "%s", name)
	}
}

// No way to fail keeps a connection of a pool that has two.
func TestTwoHundredFailuresReturnTheConnectionsOfATinyPool(t *testing.T) {
	t.Parallel()
	plan := lab.Plan{Delivery: delivery.Config{Workers: 1}, Connections: 2}
	n := 0 // one worker: no race
	plan.Listeners = []lab.Listener{{Name: "A", MaxAttempts: 1, TimeLimit: 200 * time.Millisecond, Run: func(ctx context.Context, self lab.Self) error {
		switch n++; n % 8 {
		case 0:
			panic(n)
		case 1:
			runtime.Goexit()
		case 2:
			_, _ = self.Tx.ExecContext(ctx, `SELEKT`)
		case 3:
			rows, err := self.Tx.QueryxContext(ctx, `SELECT generate_series(1, 100)`)
			if err == nil && rows.Next() {
				return errors.New("with rows open")
			}
		case 4:
			if n > 100 {
				return errors.New("no time-out this time")
			}
			_, err := self.Tx.ExecContext(ctx, `SELECT pg_sleep(60)`)
			return err
		case 5:
			_, _ = self.Tx.ExecContext(ctx, `ROLLBACK`)
			return errors.New("rolled back")
		}
		return errors.New("failed")
	}}}
	base := lab.NewBase(t, plan)
	node := lab.Start(t, base.URL, plan)
	node.PutMany(t, 1, 200)
	base.AwaitSettled()
	base.Judge(plan.Spec())
	require.Equal(t, 200, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'FAILED'`))
	require.LessOrEqual(t, node.Pool.Stats().OpenConnections, 2)
	require.NoError(t, node.App.Stop(t.Context()))
	require.Zero(t, node.Pool.Stats().InUse)
}
