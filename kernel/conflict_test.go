package kernel_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/kernel/kerneltest"
	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/usecase"
)

type (
	Bump    struct{ Trail []string }
	Bumped  struct{ Value int64 }
	bumpDep struct{ Bumped events.Emitter[Bumped] }
)

// rival commits a change of the row that the usecase has read: the usecase's own
// change then fails with 40001.
type rival struct {
	db       *kerneltest.Kernel
	left     int
	tries    int
	lastSeen []string
}

func (r *rival) bump(ctx context.Context, self access.Self[Bump, bumpDep]) (int64, error) {
	r.tries++
	r.lastSeen = append([]string(nil), self.Input.Trail...)
	self.Input.Trail[0] = "changed by a try"
	var value int64
	if err := self.Tx.GetContext(ctx, &value, `SELECT value FROM counter`); err != nil {
		return 0, err
	}
	if err := self.Deps.Bumped.Emit(ctx, Bumped{value + 1}); err != nil {
		return 0, err
	}
	if r.left > 0 {
		r.left--
		if _, err := r.db.DB().Exec(`UPDATE counter SET value = value + 10`); err != nil {
			return 0, err
		}
	}
	return value + 1, self.Tx.ExecOne(ctx, `UPDATE counter SET value = $1`, value+1)
}

func (r *rival) start(t *testing.T) {
	r.db = kerneltest.New(t, kernel.DevSchema(`CREATE TABLE counter (value bigint NOT NULL)`, `INSERT INTO counter VALUES (0)`),
		kernel.Module("test",
			events.Declare[Bumped]("test.conflict.Bumped", events.Recorded()),
			usecase.Declare("test.conflict.Bump", r.bump, usecase.Isolation(sql.LevelRepeatableRead), usecase.RetryConflicts(3)),
		))
}

func TestAConflictIsRetriedWithInputAndEventsRestored(t *testing.T) {
	t.Parallel()
	r := &rival{left: 2}
	r.start(t)
	value, err := kerneltest.Get[usecase.Usecase[Bump, int64]](r.db).Execute(t.Context(), Bump{Trail: []string{"given"}})
	require.NoError(t, err)
	require.EqualValues(t, 21, value)
	require.Equal(t, 3, r.tries)
	require.Equal(t, []string{"given"}, r.lastSeen, "every try gets the input as it was given")
	require.Equal(t, []Bumped{{21}}, kerneltest.Emitted[Bumped](r.db), "what rolled-back tries emitted is gone")
	var stored []int64
	require.NoError(t, r.db.DB().Select(&stored, `SELECT "Value" FROM "test.conflict"."@event:Bumped"`))
	require.Equal(t, []int64{21}, stored)
}

func TestAConflictIsRetriedABoundedNumberOfTimes(t *testing.T) {
	t.Parallel()
	r := &rival{left: 100}
	r.start(t)
	_, err := kerneltest.Get[usecase.Usecase[Bump, int64]](r.db).Execute(t.Context(), Bump{Trail: []string{"given"}})
	require.True(t, persistence.IsRetryable(err), "%v", err)
	require.Equal(t, 4, r.tries, "the first try and three retries")
	require.Empty(t, kerneltest.Emitted[Bumped](r.db))
}
