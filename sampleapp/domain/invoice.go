package domain

import "github.com/google/uuid"

// Invoice asks for the money of one delivered parcel.
type Invoice struct {
	stop   uuid.UUID
	amount Money
}

// NewInvoice returns an invoice of more than nothing.
func NewInvoice(stop uuid.UUID, amount Money) (Invoice, error) {
	switch {
	case stop == uuid.Nil:
		return Invoice{}, invalid("an invoice is for a stop")
	case amount.cents == 0:
		return Invoice{}, invalid("an invoice of nothing")
	}
	return Invoice{stop: stop, amount: amount}, nil
}

// Stop returns the delivered stop.
func (i Invoice) Stop() uuid.UUID { return i.stop }

// Amount returns what it asks for.
func (i Invoice) Amount() Money { return i.amount }
