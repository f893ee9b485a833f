package app

import (
	"context"
	"fmt"

	"github.com/tidings-go/tidings/events"
)

type notifyDeps struct {
	Mail Mailer
	Told Notifications
}

// notifyCustomer tells a customer that the parcel goes elsewhere. It writes
// first and sends last: if the mail server fails, the note is rolled back with
// the delivery, and the retry begins with nothing. The mail itself no rollback
// reaches: the key keeps it from going out twice.
func notifyCustomer(ctx context.Context, self events.Self[StopMoved, notifyDeps]) error {
	e := self.Event
	text := fmt.Sprintf("Dear %s, your parcel now goes to %s, %s %s.", e.Customer.Name, e.To.Street, e.To.Zip, e.To.City)
	if e.Note != "" {
		text += fmt.Sprintf(" The driver knows: %s.", e.Note)
	}
	if err := self.Deps.Told.Add(ctx, self.Tx, e.Stop, self.Meta.EventID, text); err != nil {
		return err
	}
	return self.Deps.Mail.Send(ctx, Mail{Key: self.Meta.IdempotencyKey, To: e.Customer.Email, Text: text})
}
