package main

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel/kerneltest"
	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/sampleapp/adapters"
	"github.com/tidings-go/tidings/sampleapp/app"
	"github.com/tidings-go/tidings/sampleapp/domain"
	"github.com/tidings-go/tidings/usecase"
)

// outbox is a mailer that fails a number of times.
type outbox struct {
	mu    sync.Mutex
	fails int
	asked []app.Mail
}

func (o *outbox) Send(_ context.Context, mail app.Mail) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, mail)
	if len(o.asked) <= o.fails {
		return errors.New("the mail server is down")
	}
	return nil
}

func company(t *testing.T, mail app.Mailer) *kerneltest.Kernel {
	t.Helper()
	return kerneltest.New(t, app.Module, app.Office, adapters.Module, kerneltest.Replace(mail))
}

// planned plans a tour with stops of Ada and Grace.
func planned(t *testing.T, k *kerneltest.Kernel) app.Planned {
	t.Helper()
	day, err := domain.NewDay("2026-03-02")
	require.NoError(t, err)
	in := app.PlanTour{Day: day, Driver: "Frances"}
	for _, name := range []string{"Ada", "Grace"} {
		customer, err := domain.NewCustomer(name, name+"@example.com")
		require.NoError(t, err)
		in.Stops = append(in.Stops, app.PlannedStop{Customer: customer, At: at(t, name+" Street 1", "10115")})
	}
	planned, err := kerneltest.Get[usecase.Usecase[app.PlanTour, app.Planned]](k).Execute(t.Context(), in)
	require.NoError(t, err)
	return planned
}

func at(t *testing.T, street, zip string) domain.Address {
	t.Helper()
	a, err := domain.NewAddress(street, zip, "Berlin")
	require.NoError(t, err)
	return a
}

func count(t *testing.T, k *kerneltest.Kernel, query string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, k.DB().GetContext(t.Context(), &n, query, args...))
	return n
}

func TestATourIsRecordedWithoutAJob(t *testing.T) {
	t.Parallel()
	k := company(t, &outbox{})
	tour := planned(t, k)
	require.Equal(t, []app.TourPlanned{{Tour: tour.Tour, Day: "2026-03-02", Driver: "Frances", Stops: 2}},
		kerneltest.Emitted[app.TourPlanned](k))
	require.Equal(t, 1, count(t, k, `SELECT count(*) FROM "example.delivery"."@event:TourPlanned" WHERE id IS NOT NULL`))
	require.Zero(t, count(t, k, `SELECT count(*) FROM tidings.delivery`))
}

func TestACustomerIsToldOnceByAMailServerThatFailsTwice(t *testing.T) {
	t.Parallel()
	mail := &outbox{fails: 2}
	k := company(t, mail)
	stop := planned(t, k).Stops[0]
	moved, err := kerneltest.Get[usecase.Usecase[app.MoveStop, app.Moved]](k).
		Execute(t.Context(), app.MoveStop{Stop: stop, To: at(t, "Far Street 1", "80331")})
	require.NoError(t, err)
	require.EqualValues(t, 600, moved.Fee.Cents())
	board, err := kerneltest.Get[usecase.Usecase[app.ShowBoard, []app.BoardRow]](k).Execute(t.Context(), app.ShowBoard{})
	require.NoError(t, err)
	require.Equal(t, 1, board[0].Moves, "the board is never behind")

	k.Drain()
	require.Len(t, mail.asked, 3)
	require.Equal(t, mail.asked[0], mail.asked[2], "the same mail under the same key")
	require.Equal(t, 1, count(t, k, `SELECT count(*) FROM notification WHERE stop = $1`, stop))
	require.Equal(t, 3, count(t, k, `SELECT attempts FROM tidings.jobs WHERE state = $1`, events.StateCompleted))
}

func TestAMailThatIsNeverSentLeavesAFailedJobAndNoEffect(t *testing.T) {
	t.Parallel()
	k := company(t, &outbox{fails: 100})
	_, err := kerneltest.Get[usecase.Usecase[app.MoveStop, app.Moved]](k).
		Execute(t.Context(), app.MoveStop{Stop: planned(t, k).Stops[0], To: at(t, "Other Street 1", "10245")})
	require.NoError(t, err)
	k.Drain()
	require.Equal(t, 4, count(t, k, `SELECT attempts FROM tidings.jobs WHERE state = $1`, events.StateFailed))
	require.Zero(t, count(t, k, `SELECT count(*) FROM notification`))
}

func TestACompletedStopIsInvoicedAndTheDayReported(t *testing.T) {
	t.Parallel()
	k := company(t, &outbox{})
	stop := planned(t, k).Stops[0]
	complete := kerneltest.Get[usecase.Usecase[app.CompleteStop, app.Completed]](k)
	_, err := complete.Execute(t.Context(), app.CompleteStop{Stop: stop})
	require.NoError(t, err)
	_, err = complete.Execute(t.Context(), app.CompleteStop{Stop: stop})
	require.Error(t, err, "a parcel is handed over once")
	day, err := domain.NewDay("2026-03-02")
	require.NoError(t, err)
	require.NoError(t, kerneltest.Get[usecase.Action[app.CloseDay]](k).Execute(t.Context(), app.CloseDay{Day: day}))
	k.Drain()
	require.Equal(t, 1, count(t, k, `SELECT count(*) FROM invoice WHERE stop = $1 AND cents = 490`, stop))
	require.Equal(t, 1, count(t, k, `SELECT count(*) FROM day_report WHERE tours = 1 AND stops = 2 AND completed = 1`))
}

func TestARefusedSwapLeavesNothing(t *testing.T) {
	t.Parallel()
	k := company(t, &outbox{})
	stops := planned(t, k).Stops
	_, err := kerneltest.Get[usecase.Usecase[app.CompleteStop, app.Completed]](k).
		Execute(t.Context(), app.CompleteStop{Stop: stops[1]})
	require.NoError(t, err)
	swap := kerneltest.Get[usecase.Usecase[app.SwapStops, app.Swapped]](k)
	_, err = swap.Execute(t.Context(), app.SwapStops{A: stops[0], B: stops[1]})
	var rule *domain.Error
	require.ErrorAs(t, err, &rule)
	require.Equal(t, domain.Conflict, rule.Kind)
	require.Empty(t, kerneltest.Emitted[app.StopMoved](k))
	require.Zero(t, count(t, k, `SELECT count(*) FROM "example.delivery"."@event:StopMoved"`))
	require.Zero(t, count(t, k, `SELECT (SELECT sum(moves) FROM stop) + (SELECT sum(moves) FROM board)`))
	_, err = swap.Execute(t.Context(), app.SwapStops{A: stops[0], B: stops[0]})
	require.ErrorIs(t, err, usecase.ErrInvalid)
}

func TestATourThatIsNotOnTheBoardCannotBeChanged(t *testing.T) {
	t.Parallel()
	k := company(t, &outbox{})
	tour := planned(t, k)
	_, err := k.DB().ExecContext(t.Context(), `DELETE FROM board`)
	require.NoError(t, err)
	_, err = kerneltest.Get[usecase.Usecase[app.CompleteStop, app.Completed]](k).
		Execute(t.Context(), app.CompleteStop{Stop: tour.Stops[0]})
	require.ErrorIs(t, err, persistence.ErrNotOneRow)
	require.Zero(t, count(t, k, `SELECT count(*) FROM stop WHERE completed`))
	require.Zero(t, count(t, k, `SELECT count(*) FROM tidings.delivery`))
}
