package app

import "github.com/google/uuid"

// The events of the company: plain facts in plain Go. They carry what listeners
// need to know, not the domain's own types: a stored fact outlives today's rules.

// TourPlanned says that a tour was planned. It is recorded although nothing
// is delivered for it: the record of what was planned.
type TourPlanned struct {
	Tour        uuid.UUID
	Day, Driver string
	Stops       int
}

// StopMoved says that a stop was moved to another address, and for which fee.
type StopMoved struct {
	Stop, Tour uuid.UUID
	Customer   Recipient
	From, To   Place
	FeeCents   int64
	Note       string // for the driver, from migration add_note on
}

// StopCompleted says that a parcel was handed over, and what that costs.
type StopCompleted struct {
	Stop, Tour uuid.UUID
	PriceCents int64
}

// DayClosed says that a day is over, and what was done on it.
type DayClosed struct {
	Day                     string
	Tours, Stops, Completed int
}

// Place is an address in an event.
type Place struct{ Street, Zip, City string }

// Recipient is a customer in an event.
type Recipient struct{ Name, Email string }
