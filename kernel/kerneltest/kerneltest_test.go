package kerneltest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/kernel/kerneltest"
	"github.com/tidings-go/tidings/usecase"
)

type (
	Step  struct{ Left int }
	Other struct{ N int }
	Begin struct{ Steps []int }
	begin struct{ Step events.Emitter[Step] }
	step  struct {
		Step   events.Emitter[Step]
		Mailer Mailer
	}
	Mailer interface{ Mail(int) error }
)

// chain is an app whose listener emits the next step until none is left.
func chain(opts ...events.ListenerOption) fx.Option {
	return kernel.Module("chain",
		fx.Provide(func() (Mailer, error) { return nil, errors.New("the true mailer must not be made in a test") }),
		events.Declare[Step]("test.chain.Step"),
		events.Declare[Other]("test.chain.Other"),
		usecase.DeclareAction("test.chain.Begin", func(ctx context.Context, self access.Self[Begin, begin]) error {
			for _, n := range self.Input.Steps {
				if err := self.Deps.Step.Emit(ctx, Step{n}); err != nil {
					return err
				}
			}
			return nil
		}),
		events.Deferred("test.chain.Next", func(ctx context.Context, self events.Self[Step, step]) error {
			if err := self.Deps.Mailer.Mail(self.Event.Left); err != nil || self.Event.Left == 0 {
				return err
			}
			return self.Deps.Step.Emit(ctx, Step{self.Event.Left - 1})
		}, opts...),
	)
}

type mailer func(int) error

func (m mailer) Mail(n int) error { return m(n) }

func TestDrainWaitsForJobsThatListenersAddAndForThoseThatAreRetried(t *testing.T) {
	t.Parallel()
	var mails, failures atomic.Int32
	k := kerneltest.New(t, chain(events.MaxAttempts(3), events.Backoff(24*time.Hour, 24*time.Hour)), kerneltest.Replace[Mailer](mailer(func(n int) error {
		mails.Add(1)
		if n == 2 && failures.Add(1) < 3 {
			return errors.New("twice")
		}
		return nil
	})))
	k.Drain() // nothing to do
	require.NoError(t, kerneltest.Get[usecase.Action[Begin]](k).Execute(t.Context(), Begin{[]int{5, 1}}))
	k.Drain()
	require.EqualValues(t, 6+2+2, mails.Load())
	var open int
	require.NoError(t, k.DB().Get(&open, `SELECT count(*) FROM tidings.delivery WHERE state <> 'COMPLETED'`))
	require.Zero(t, open)
	require.Len(t, kerneltest.Emitted[Step](k), 8)
	require.Equal(t, []Step{{5}, {1}}, kerneltest.Emitted[Step](k)[:2], "in the order of the commits")
	require.Empty(t, kerneltest.Emitted[Other](k))
}

func TestDrainEndsWithJobsThatHaveFailed(t *testing.T) {
	t.Parallel()
	k := kerneltest.New(t, chain(events.MaxAttempts(2), events.Backoff(time.Hour, time.Hour)),
		kerneltest.Replace[Mailer](mailer(func(int) error { return errors.New("never") })))
	require.NoError(t, kerneltest.Get[usecase.Action[Begin]](k).Execute(t.Context(), Begin{[]int{1}}))
	k.Drain()
	var state string
	require.NoError(t, k.DB().Get(&state, `SELECT state || ' ' || attempts FROM tidings.delivery`))
	require.Equal(t, "FAILED 2", state)
}

func TestDrainLeavesAloneWhatTheAppDoesNotDeliver(t *testing.T) {
	t.Parallel()
	k := kerneltest.New(t, chain(), kernel.PublishOnly(), kerneltest.Replace[Mailer](mailer(func(int) error { return nil })))
	require.NoError(t, kerneltest.Get[usecase.Action[Begin]](k).Execute(t.Context(), Begin{[]int{1}}))
	k.Drain()
	var state string
	require.NoError(t, k.DB().Get(&state, `SELECT state FROM tidings.delivery`))
	require.Equal(t, "READY", state)
}

func TestTheAppsTablesStandBesideTheKernels(t *testing.T) {
	t.Parallel()
	k := kerneltest.New(t, kernel.DevSchema(`CREATE TABLE a (n int)`, `INSERT INTO a VALUES (7)`), kernel.DevSchema(`CREATE TABLE b ()`), kernel.Schema("other"))
	var n int
	require.NoError(t, k.DB().Get(&n, `SELECT n FROM a WHERE NOT EXISTS (SELECT FROM b) AND NOT EXISTS (SELECT FROM other.delivery)`))
	require.Equal(t, 7, n)
	require.Equal(t, "other", k.Schema())
}
