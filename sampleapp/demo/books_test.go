package demo

import (
	"context"
	"os"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/kernel/kerneltest"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
	"github.com/tidings-go/tidings/sampleapp/adapters"
	"github.com/tidings-go/tidings/sampleapp/app"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

type quietMailer struct{}

func (quietMailer) Send(context.Context, app.Mail) error { return nil }

// played returns a company after a day on which all went well.
func played(t *testing.T) *kerneltest.Kernel {
	t.Helper()
	d := &day{story: newStory(t.Output(), func(error) {}), company: &company{}, stops: map[string]uuid.UUID{}}
	k := kerneltest.New(t, app.Module, app.Office, adapters.Module, kerneltest.Replace[app.Mailer](quietMailer{}),
		fx.Invoke(func(h handles) { d.company.handles = h }))
	d.db = k.DB()
	for _, chapter := range []func(context.Context) error{d.plan, d.open, d.rollBack, d.closeDay} {
		require.NoError(t, chapter(t.Context()))
	}
	k.Drain()
	return k
}

func TestTheBooksBalance(t *testing.T) {
	t.Parallel()
	books, err := readBooks(t.Context(), played(t).DB())
	require.NoError(t, err)
	require.Equal(t, Books{Emitted: 5, Stored: 5, Delivered: 3}, books)
}

func TestTheBooksSeeWhatIsLostOrThereTwice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tamper           string
		lost, duplicated int64
	}{
		"job deleted":           {`DELETE FROM tidings.delivery WHERE id = (SELECT min(id) FROM tidings.delivery)`, 1, 0},
		"all jobs deleted":      {`DELETE FROM tidings.delivery`, 3, 0},
		"effect deleted":        {`DELETE FROM notification`, 1, 0},
		"effect copied":         {`INSERT INTO invoice (stop, because, cents) SELECT stop, because, cents FROM invoice`, 0, 1},
		"report copied":         {`INSERT INTO day_report (day, because, tours, stops, completed) SELECT day, because, tours, stops, completed FROM day_report`, 0, 1},
		"effect of nothing":     {`UPDATE invoice SET because = gen_random_uuid()`, 1, 1},
		"effect of a FAILED":    {`UPDATE tidings.delivery SET state = 'FAILED'`, 0, 3},
		"event deleted":         {`DELETE FROM "example.delivery"."@event:TourPlanned" WHERE "Driver" = 'Frances'`, 1, 0},
		"fact deleted":          {`DELETE FROM closed_day`, 0, 1},
		"move missing on board": {`UPDATE board SET moves = 0`, 1, 0},
		"board counts twice":    {`UPDATE board SET completed = completed * 2`, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := played(t).DB()
			_, err := db.ExecContext(t.Context(), c.tamper)
			require.NoError(t, err)
			books, err := readBooks(t.Context(), db)
			require.NoError(t, err)
			require.Equal(t, c.lost, books.Lost, books.findings)
			require.Equal(t, c.duplicated, books.Duplicated, books.findings)
			require.ErrorIs(t, books.tell(newStory(t.Output(), func(error) {}), false), errBooks)
		})
	}
}
