package app

import (
	"context"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/sampleapp/domain"
)

// CreateInvoice asks the customer of a stop for money, because of an event.
type CreateInvoice struct {
	Stop    uuid.UUID
	Amount  domain.Money
	Because uuid.UUID
}

// Invoiced is the number of an invoice.
type Invoiced struct{ Number int64 }

type invoiceDeps struct{ Invoices Invoices }

func createInvoice(ctx context.Context, self access.Self[CreateInvoice, invoiceDeps]) (Invoiced, error) {
	invoice, err := domain.NewInvoice(self.Input.Stop, self.Input.Amount)
	if err != nil {
		return Invoiced{}, err
	}
	number, err := self.Deps.Invoices.Add(ctx, self.Tx, invoice, self.Input.Because)
	return Invoiced{Number: number}, err
}
