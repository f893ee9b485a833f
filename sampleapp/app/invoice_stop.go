package app

import (
	"context"

	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/sampleapp/domain"
	"github.com/tidings-go/tidings/usecase"
)

type invoiceStopDeps struct {
	Invoice usecase.Usecase[CreateInvoice, Invoiced]
}

// invoiceStop is an inbound adapter like an HTTP handler: it calls a usecase.
// That joins the delivery's transaction, so the invoice and the acknowledgement
// of the job are one commit.
func invoiceStop(ctx context.Context, self events.Self[StopCompleted, invoiceStopDeps]) error {
	amount, err := domain.NewMoney(self.Event.PriceCents)
	if err != nil {
		return err
	}
	_, err = self.Deps.Invoice.Execute(ctx, CreateInvoice{
		Stop: self.Event.Stop, Amount: amount, Because: self.Meta.EventID,
	})
	return err
}
