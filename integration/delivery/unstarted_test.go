//go:build unix

package delivery_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/pgproxy"
	"github.com/tidings-go/tidings/usecase"
)

// interruptions end a statement of the kernel that waits, as operators and
// time-outs do.
var interruptions = []string{"pg_terminate_backend", "pg_cancel_backend"}

// Contract 8: a job that never started never fails for it. Here the events
// cannot be read for a while, since a migration holds their table.
func TestAnUnreadableTableSpendsNoAttempt(t *testing.T) {
	t.Parallel()
	for _, interrupt := range interruptions {
		t.Run(interrupt, func(t *testing.T) {
			t.Parallel()
			plan := lab.Plan{Listeners: []lab.Listener{{Name: "A", MaxAttempts: 1}}}
			base := lab.NewBase(t, plan)
			proxy := pgproxy.Start(t, base.URL)
			hold := make(chan struct{})
			reached := proxy.Add(pgproxy.Rule{Match: pgproxy.Containing(claimStatement...), Hold: hold})
			lab.Start(t, proxy.URL(), plan)
			await(t, reached, proxy)
			publisher(t, base, plan).PutMany(t, 1, 5)
			migration := base.DB.MustBegin()
			migration.MustExec(`LOCK TABLE "lab.delivery"."@event:Task"`)
			close(hold)
			base.Await(`SELECT bool_or(` + interrupt + `(pid)) FROM pg_stat_activity
				WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%@event:Task%' AND pid <> pg_backend_pid()`)
			require.NoError(t, migration.Rollback())
			base.AwaitSettled()
			base.Judge(plan.Spec())
			require.Equal(t, 5, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'COMPLETED'`), base.Describe())
		})
	}
}

// The same with the first statement of the processing transaction, that someone
// keeps waiting with a lock on the job.
func TestAnInterruptedAcknowledgementSpendsNoAttempt(t *testing.T) {
	t.Parallel()
	for _, interrupt := range interruptions {
		t.Run(interrupt, func(t *testing.T) {
			t.Parallel()
			plan := cuttable()
			plan.Listeners[0].MaxAttempts = 1
			plan.Listeners[0].TimeLimit = 20 * time.Second
			base := lab.NewBase(t, plan)
			proxy := pgproxy.Start(t, base.URL)
			hold := make(chan struct{})
			reached := proxy.Add(pgproxy.Rule{Match: pgproxy.Containing(acknowledgeStatement...), Hold: hold})
			node := lab.Start(t, proxy.URL(), plan)
			node.Put(t, 1, "")
			await(t, reached, proxy)
			operator := base.DB.MustBegin()
			operator.MustExec(`SELECT FROM tidings.delivery FOR UPDATE`)
			close(hold)
			base.Await(`SELECT bool_or(` + interrupt + `(pid)) FROM pg_stat_activity
				WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%claim_token = NULL%' AND pid <> pg_backend_pid()`)
			base.Await(`SELECT NOT EXISTS (SELECT FROM pg_stat_activity
				WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%SET state = ''COMPLETED''%')`)
			require.NoError(t, operator.Rollback())
			base.AwaitSettled()
			base.Judge(plan.Spec())
			require.Equal(t, 1, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'COMPLETED'`), base.Describe())
		})
	}
}

// Word is an event with a rule that changes.
type Word struct {
	Text  string
	Extra int64
}

var strict atomic.Bool

var errRude = errors.New("rude")

// Validate is today's rule.
func (w Word) Validate() error {
	if strict.Load() && w.Text == "rude" {
		return errRude
	}
	return nil
}

type say struct{ Words []string }

// Contract 12.
func TestAPayloadThatTodaysRulesRefuseFailsAtOnce(t *testing.T) {
	type deps struct{ Word events.Emitter[Word] }
	var heard atomic.Int64
	var speak usecase.Action[say]
	plan := lab.Plan{Listeners: []lab.Listener{{Name: "A"}}, Delivery: delivery.Config{Workers: 1}}
	plan.More = append(plan.More,
		events.Declare[Word]("lab.delivery.Word"),
		usecase.DeclareAction("lab.delivery.Say", func(ctx context.Context, self access.Self[say, deps]) error {
			for _, w := range self.Input.Words {
				if err := self.Deps.Word.Emit(ctx, Word{Text: w}); err != nil {
					return err
				}
			}
			return nil
		}),
		events.Deferred("lab.delivery.Hear", func(ctx context.Context, self events.Self[Word, struct{}]) error {
			heard.Add(1)
			return lab.Effect(ctx, lab.Self{Meta: self.Meta, Tx: self.Tx})
		}),
		fx.Populate(&speak),
	)
	strict.Store(false)
	defer strict.Store(false)
	base := lab.NewBase(t, plan)
	publisher(t, base, plan)
	words := make([]string, 40)
	for i := range words {
		words[i] = []string{"rude", "kind"}[i%2]
	}
	require.NoError(t, speak.Execute(t.Context(), say{words}))
	strict.Store(true)
	lab.Start(t, base.URL, plan)
	base.AwaitSettled()
	require.EqualValues(t, 20, heard.Load(), "the listener never saw a refused event")
	require.Equal(t, 20, base.Int(`SELECT count(*) FROM tidings.jobs WHERE state = 'FAILED' AND reason = 'PAYLOAD'
		AND attempts = 0 AND last_error LIKE '%rude%' AND failed_at IS NOT NULL`), base.Describe())
	require.Equal(t, 20, base.Int(`SELECT count(*) FROM tidings.delivery_history WHERE failure = 'PAYLOAD'`))
	require.Equal(t, 20, base.Int(`SELECT count(*) FROM effect`))
}
