package app

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/sampleapp/domain"
	"github.com/tidings-go/tidings/usecase"
)

// A listener is a function: these tests fill its Self by hand, without kernel,
// fx or database.

type fakeMailer struct {
	sent []Mail
	err  error
}

func (f *fakeMailer) Send(_ context.Context, mail Mail) error {
	f.sent = append(f.sent, mail)
	return f.err
}

type fakeNotes struct{ because []uuid.UUID }

func (f *fakeNotes) Add(_ context.Context, _ access.Tx, _, because uuid.UUID, _ string) error {
	f.because = append(f.because, because)
	return nil
}

type fakeBoard struct {
	Board
	moved []uuid.UUID
}

func (f *fakeBoard) CountMove(_ context.Context, _ access.Tx, tour uuid.UUID) error {
	f.moved = append(f.moved, tour)
	return nil
}

func moved() events.Self[StopMoved, notifyDeps] {
	return events.Self[StopMoved, notifyDeps]{
		Event: StopMoved{
			Stop: uuid.New(), Tour: uuid.New(), Customer: Recipient{Name: "Ada", Email: "ada@example.com"},
			To: Place{Street: "Other Street 2", Zip: "14050", City: "Berlin"},
		},
		Meta: events.Meta{EventID: uuid.New(), IdempotencyKey: "the key"},
	}
}

func TestTheCustomerIsToldUnderTheKeyOfTheDelivery(t *testing.T) {
	t.Parallel()
	mail, told := &fakeMailer{}, &fakeNotes{}
	self := moved()
	self.Deps = notifyDeps{Mail: mail, Told: told}
	require.NoError(t, notifyCustomer(t.Context(), self))
	require.Equal(t, []uuid.UUID{self.Meta.EventID}, told.because)
	require.Len(t, mail.sent, 1)
	require.Equal(t, "the key", mail.sent[0].Key)
	require.Equal(t, "ada@example.com", mail.sent[0].To)
	require.Contains(t, mail.sent[0].Text, "Other Street 2")
}

func TestAMailThatIsNotSentFailsTheDelivery(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	self := moved()
	self.Deps = notifyDeps{Mail: &fakeMailer{err: down}, Told: &fakeNotes{}}
	require.ErrorIs(t, notifyCustomer(t.Context(), self), down)
}

func TestAMoveCountsOnTheBoardOfItsTour(t *testing.T) {
	t.Parallel()
	board, event := &fakeBoard{}, moved().Event
	err := moveOnBoard(t.Context(), events.Self[StopMoved, boardDeps]{Event: event, Deps: boardDeps{Board: board}})
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{event.Tour}, board.moved)
}

func TestACompletedStopIsInvoicedAtItsPrice(t *testing.T) {
	t.Parallel()
	var got []CreateInvoice
	self := events.Self[StopCompleted, invoiceStopDeps]{
		Event: StopCompleted{Stop: uuid.New(), PriceCents: 490},
		Meta:  events.Meta{EventID: uuid.New()},
		Deps: invoiceStopDeps{Invoice: usecase.StubUsecase(func(_ context.Context, in CreateInvoice) (Invoiced, error) {
			got = append(got, in)
			return Invoiced{Number: 1}, nil
		})},
	}
	require.NoError(t, invoiceStop(t.Context(), self))
	amount, err := domain.NewMoney(490)
	require.NoError(t, err)
	require.Equal(t, []CreateInvoice{{Stop: self.Event.Stop, Amount: amount, Because: self.Meta.EventID}}, got)

	self.Event.PriceCents = -1
	require.Error(t, invoiceStop(t.Context(), self))
}
