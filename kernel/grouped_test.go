package kernel_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/kernel/kerneltest"
	"github.com/tidings-go/tidings/usecase"
)

type (
	Batch    struct{ Size int }
	Counted  struct{ N int64 }
	batchDep struct{ Counted events.Emitter[Counted] }
)

// startGrouped starts an app whose listener runs in groups; behave may fail it.
func startGrouped(t *testing.T, behave func(events.Self[Counted, struct{}]) error, opts ...events.ListenerOption) *kerneltest.Kernel {
	opts = append([]events.ListenerOption{events.Grouped(16), events.MaxAttempts(3)}, opts...)
	return kerneltest.New(t, kernel.DevSchema(`CREATE TABLE counted (n bigint, xid xid8, attempt int)`),
		kernel.Delivery(func(c *delivery.Config) { c.Workers = 4 }),
		kernel.Module("test",
			events.Declare[Counted]("test.grouped.Counted"),
			usecase.DeclareAction("test.grouped.Batch", func(ctx context.Context, self access.Self[Batch, batchDep]) error {
				for n := range self.Input.Size {
					if err := self.Deps.Counted.Emit(ctx, Counted{int64(n)}); err != nil {
						return err
					}
				}
				return nil
			}),
			events.Deferred("test.grouped.Count", func(ctx context.Context, self events.Self[Counted, struct{}]) error {
				if err := self.Tx.ExecOne(ctx, `INSERT INTO counted VALUES ($1, pg_current_xact_id(), $2)`, self.Event.N, self.Meta.Attempt); err != nil {
					return err
				}
				return behave(self)
			}, opts...)))
}

func runBatch(t *testing.T, k *kerneltest.Kernel, size int) {
	t.Helper()
	require.NoError(t, kerneltest.Get[usecase.Action[Batch]](k).Execute(t.Context(), Batch{size}))
	k.Drain()
}

func number(t *testing.T, k *kerneltest.Kernel, query string) (n int) {
	t.Helper()
	require.NoError(t, k.DB().Get(&n, query))
	return n
}

func TestAGroupIsOneTransaction(t *testing.T) {
	t.Parallel()
	k := startGrouped(t, func(events.Self[Counted, struct{}]) error { return nil })
	runBatch(t, k, 200)
	require.Equal(t, 200, number(t, k, `SELECT count(DISTINCT n) FROM counted`))
	require.Equal(t, 200, number(t, k, `SELECT count(*) FROM counted`))
	require.Less(t, number(t, k, `SELECT count(DISTINCT xid) FROM counted`), 100, "jobs share transactions")
	require.Equal(t, 200, number(t, k, `SELECT count(*) FROM tidings.delivery WHERE state = 'COMPLETED' AND attempts = 1`))
}

// TestAPoisonedJobCostsItsNeighboursNothing: whatever way a job fails, it ends at
// its cap, and the jobs of its group complete in their first attempt.
func TestAPoisonedJobCostsItsNeighboursNothing(t *testing.T) {
	t.Parallel()
	poisons := map[string]func(events.Self[Counted, struct{}]) error{
		"an error": func(events.Self[Counted, struct{}]) error { return errors.New("poison") },
		"a panic":  func(events.Self[Counted, struct{}]) error { panic("poison") },
		"Goexit":   func(events.Self[Counted, struct{}]) error { runtime.Goexit(); return nil },
		"a swallowed error": func(self events.Self[Counted, struct{}]) error {
			_, _ = self.Tx.ExecContext(context.Background(), `SELECT 1/0`)
			return nil
		},
	}
	for name, poison := range poisons {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startGrouped(t, func(self events.Self[Counted, struct{}]) error {
				if self.Event.N%20 == 7 {
					return poison(self)
				}
				return nil
			}, events.Backoff(time.Millisecond, time.Millisecond))
			runBatch(t, k, 100)
			require.Equal(t, 95, number(t, k, `SELECT count(*) FROM counted`))
			require.Equal(t, 95, number(t, k, `SELECT count(DISTINCT n) FROM counted WHERE attempt = 1`))
			require.Equal(t, 5, number(t, k, `SELECT count(*) FROM tidings.delivery WHERE state = 'FAILED' AND attempts = 3`))
			require.Equal(t, 15, number(t, k, `SELECT count(*) FROM tidings.delivery_history WHERE kind = 'FAILURE'`))
		})
	}
}
