package app

import (
	"context"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/sampleapp/domain"
)

// ShowBoard reads the board of a day, or of all days if Day is zero. It is
// declared read-only: PostgreSQL itself refuses a write in it.
type ShowBoard struct{ Day domain.Day }

type showDeps struct{ Board Board }

func showBoard(ctx context.Context, self access.Self[ShowBoard, showDeps]) ([]BoardRow, error) {
	return self.Deps.Board.Rows(ctx, self.Tx, self.Input.Day)
}
