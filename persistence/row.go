package persistence

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/jmoiron/sqlx"
)

// ErrRow returns a row that was never read: its Err and Scan return err. It is
// how QueryRowxContext reports an error before a statement was sent, since
// sqlx gives no other way to make such a row.
func ErrRow(ctx context.Context, err error) *sqlx.Row {
	db := sqlx.NewDb(sql.OpenDB(refusing{err}), "postgres")
	defer db.Close()
	return db.QueryRowxContext(ctx, "")
}

// refusing is a connector whose every connection attempt fails with one error.
type refusing struct{ err error }

func (r refusing) Connect(context.Context) (driver.Conn, error) { return nil, r.err }

func (r refusing) Driver() driver.Driver { return r }

func (r refusing) Open(string) (driver.Conn, error) { return nil, r.err }
