package adapters

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/sampleapp/app"
	"github.com/tidings-go/tidings/sampleapp/domain"
)

type board struct{}

// NewBoard returns the dispatcher's board.
func NewBoard() app.Board { return board{} }

const (
	openRow = `INSERT INTO board (tour, day, driver, stops) VALUES ($1, $2, $3, $4)`

	countMove = `UPDATE board SET moves = moves + 1 WHERE tour = $1`

	countCompletion = `UPDATE board SET completed = completed + 1 WHERE tour = $1`

	boardRows = `SELECT tour, day::text AS day, driver, stops, moves, completed FROM board
WHERE $1 = '' OR day::text = $1 ORDER BY board.day, driver, tour`
)

func (board) Open(ctx context.Context, tx access.Tx, row app.BoardRow) error {
	if err := tx.ExecOne(ctx, openRow, row.Tour, row.Day, row.Driver, row.Stops); err != nil {
		return fmt.Errorf("open on board: %w", err)
	}
	return nil
}

// CountMove fails if the tour is not on the board: an update that hits no row is
// no success, and ExecOne says so.
func (board) CountMove(ctx context.Context, tx access.Tx, tour uuid.UUID) error {
	if err := tx.ExecOne(ctx, countMove, tour); err != nil {
		return fmt.Errorf("count move on board: %w", err)
	}
	return nil
}

func (board) CountCompletion(ctx context.Context, tx access.Tx, tour uuid.UUID) error {
	if err := tx.ExecOne(ctx, countCompletion, tour); err != nil {
		return fmt.Errorf("count completion on board: %w", err)
	}
	return nil
}

func (board) Rows(ctx context.Context, tx access.Tx, day domain.Day) ([]app.BoardRow, error) {
	rows := []app.BoardRow{}
	if err := tx.SelectContext(ctx, &rows, boardRows, day.String()); err != nil {
		return nil, fmt.Errorf("read board: %w", err)
	}
	return rows, nil
}
