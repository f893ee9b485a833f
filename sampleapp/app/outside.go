package app

import (
	"context"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/sampleapp/domain"
)

// Tours keeps tours and their stops. Like all repositories here it works in the
// transaction that it is handed.
type Tours interface {
	// Add stores a new tour with its stops.
	Add(ctx context.Context, tx access.Tx, tour *domain.Tour) error
	// Stop returns a stop and locks it until the transaction ends.
	Stop(ctx context.Context, tx access.Tx, id uuid.UUID) (*domain.Stop, error)
	// Save stores a changed stop.
	Save(ctx context.Context, tx access.Tx, stop *domain.Stop) error
	// CloseDay closes a day, once, and counts what was done on it.
	CloseDay(ctx context.Context, tx access.Tx, day domain.Day) (Done, error)
}

// Done counts the work of a day.
type Done struct{ Tours, Stops, Completed int }

// Board is the dispatcher's view of the tours under way: a row per tour, kept by
// synchronous listeners, so that it is never behind.
type Board interface {
	Open(ctx context.Context, tx access.Tx, row BoardRow) error
	CountMove(ctx context.Context, tx access.Tx, tour uuid.UUID) error
	CountCompletion(ctx context.Context, tx access.Tx, tour uuid.UUID) error
	// Rows returns the rows of a day, or of all days if day is zero.
	Rows(ctx context.Context, tx access.Tx, day domain.Day) ([]BoardRow, error)
}

// BoardRow is one tour on the board.
type BoardRow struct {
	Tour      uuid.UUID `json:"tour" db:"tour"`
	Day       string    `json:"day" db:"day"`
	Driver    string    `json:"driver" db:"driver"`
	Stops     int       `json:"stops" db:"stops"`
	Moves     int       `json:"moves" db:"moves"`
	Completed int       `json:"completed" db:"completed"`
}

// Invoices keeps invoices. Because is the event that an invoice follows from.
type Invoices interface {
	Add(ctx context.Context, tx access.Tx, invoice domain.Invoice, because uuid.UUID) (number int64, err error)
}

// Notifications notes what customers were told, and because of which event.
type Notifications interface {
	Add(ctx context.Context, tx access.Tx, stop, because uuid.UUID, text string) error
}

// Reports keeps the office's report of each day.
type Reports interface {
	Write(ctx context.Context, tx access.Tx, day string, done Done, because uuid.UUID) error
}

// Mailer sends mail: the outside world, which can fail, and which no rollback
// reaches. It sends the mails of one key once, however often it is asked.
type Mailer interface {
	Send(ctx context.Context, mail Mail) error
}

// Mail is what a Mailer sends.
type Mail struct {
	Key  string `json:"-"` // the same at every attempt
	To   string `json:"to"`
	Text string `json:"text"`
}
