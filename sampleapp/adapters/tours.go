package adapters

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/sampleapp/app"
	"github.com/tidings-go/tidings/sampleapp/domain"
)

type tours struct{}

// NewTours returns the repository of tours. It has no state: the transaction
// comes with each call.
func NewTours() app.Tours { return tours{} }

const (
	addTour = `INSERT INTO tour (id, day, driver) VALUES ($1, $2, $3)`

	addStop = `INSERT INTO stop (id, tour, position, name, email, street, zip, city)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

	getStop = `SELECT id, tour, name, email, street, zip, city, moves, fees, completed
FROM stop WHERE id = $1 FOR UPDATE`

	saveStop = `UPDATE stop SET street = $2, zip = $3, city = $4, moves = $5, fees = $6, completed = $7
WHERE id = $1`

	closeDay = `INSERT INTO closed_day (day) VALUES ($1) ON CONFLICT DO NOTHING`

	countDay = `SELECT count(DISTINCT tour.id) AS tours, count(stop.id) AS stops,
	count(stop.id) FILTER (WHERE stop.completed) AS completed
FROM tour JOIN stop ON stop.tour = tour.id
WHERE tour.day = $1`
)

func (tours) Add(ctx context.Context, tx access.Tx, tour *domain.Tour) error {
	if err := tx.ExecOne(ctx, addTour, tour.ID(), tour.Day().String(), tour.Driver()); err != nil {
		return fmt.Errorf("add tour: %w", err)
	}
	for i, stop := range tour.Stops() {
		s := stop.Stored()
		if err := tx.ExecOne(ctx, addStop, s.ID, s.Tour, i, s.Name, s.Email, s.Street, s.Zip, s.City); err != nil {
			return fmt.Errorf("add stop: %w", err)
		}
	}
	return nil
}

func (tours) Stop(ctx context.Context, tx access.Tx, id uuid.UUID) (*domain.Stop, error) {
	var s domain.StoredStop
	err := tx.GetContext(ctx, &s, getStop, id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, domain.NotFound("stop " + id.String())
	}
	if err != nil {
		return nil, fmt.Errorf("read stop: %w", err)
	}
	return domain.RestoreStop(s)
}

func (tours) Save(ctx context.Context, tx access.Tx, stop *domain.Stop) error {
	s := stop.Stored()
	if err := tx.ExecOne(ctx, saveStop, s.ID, s.Street, s.Zip, s.City, s.Moves, s.Fees, s.Completed); err != nil {
		return fmt.Errorf("save stop: %w", err)
	}
	return nil
}

func (tours) CloseDay(ctx context.Context, tx access.Tx, day domain.Day) (app.Done, error) {
	result, err := tx.ExecContext(ctx, closeDay, day.String())
	if err != nil {
		return app.Done{}, fmt.Errorf("close day: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return app.Done{}, errors.Join(err, domain.AlreadyClosed(day))
	}
	var done app.Done
	if err := tx.GetContext(ctx, &done, countDay, day.String()); err != nil {
		return app.Done{}, fmt.Errorf("count day: %w", err)
	}
	return done, nil
}
