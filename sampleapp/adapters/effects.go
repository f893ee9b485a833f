package adapters

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/sampleapp/app"
	"github.com/tidings-go/tidings/sampleapp/domain"
)

// The effects of deferred listeners: each row names the event it follows from.
const (
	addInvoice = `INSERT INTO invoice (stop, because, cents) VALUES ($1, $2, $3) RETURNING number`

	addNotification = `INSERT INTO notification (stop, because, text) VALUES ($1, $2, $3)`

	addReport = `INSERT INTO day_report (day, because, tours, stops, completed) VALUES ($1, $2, $3, $4, $5)`
)

type invoices struct{}

// NewInvoices returns the repository of invoices.
func NewInvoices() app.Invoices { return invoices{} }

func (invoices) Add(ctx context.Context, tx access.Tx, invoice domain.Invoice, because uuid.UUID) (number int64, err error) {
	err = tx.GetContext(ctx, &number, addInvoice, invoice.Stop(), because, invoice.Amount().Cents())
	if err != nil {
		return 0, fmt.Errorf("add invoice: %w", err)
	}
	return number, nil
}

type notifications struct{}

// NewNotifications returns the notes of what customers were told.
func NewNotifications() app.Notifications { return notifications{} }

func (notifications) Add(ctx context.Context, tx access.Tx, stop, because uuid.UUID, text string) error {
	if err := tx.ExecOne(ctx, addNotification, stop, because, text); err != nil {
		return fmt.Errorf("add notification: %w", err)
	}
	return nil
}

type reports struct{}

// NewReports returns the office's reports.
func NewReports() app.Reports { return reports{} }

func (reports) Write(ctx context.Context, tx access.Tx, day string, done app.Done, because uuid.UUID) error {
	if err := tx.ExecOne(ctx, addReport, day, because, done.Tours, done.Stops, done.Completed); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
