package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq" // the driver "postgres"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/persistence/pgserver"
	"github.com/tidings-go/tidings/sampleapp/adapters"
	"github.com/tidings-go/tidings/sampleapp/app"
	"github.com/tidings-go/tidings/usecase"
)

// database is the name of the demo's database.
const database = "company"

// company is the publishing process: an fx app that joins the kernel with its
// own pool, and the handles of its usecases.
type company struct {
	app *fx.App
	handles
}

type handles struct {
	fx.In

	Plan     usecase.Usecase[app.PlanTour, app.Planned]
	Move     usecase.Usecase[app.MoveStop, app.Moved]
	Swap     usecase.Usecase[app.SwapStops, app.Swapped]
	Complete usecase.Usecase[app.CompleteStop, app.Completed]
	Close    usecase.Action[app.CloseDay]
	Board    usecase.Usecase[app.ShowBoard, []app.BoardRow]
}

// openCompany starts the publishing process's kernel: it emits and runs
// synchronous listeners, and leaves the deferred ones to the workers.
func openCompany(ctx context.Context, db *sqlx.DB) (*company, error) {
	c := &company{}
	c.app = fx.New(
		kernel.Options(kernel.Database(db), kernel.PublishOnly(), kernel.Logger(slog.New(slog.DiscardHandler))),
		app.Module, app.Office, adapters.Module,
		fx.Invoke(func(h handles) { c.handles = h }),
		fx.NopLogger,
	)
	if err := c.app.Start(ctx); err != nil {
		return nil, fmt.Errorf("open company: %w", err)
	}
	return c, nil
}

// openDatabase makes the database with the tables of the kernel, the same that
// `sampleapp schema show` prints, and the app's own.
func openDatabase(ctx context.Context, server *pgserver.Server) (*sqlx.DB, error) {
	ddl, err := kernel.DDL(app.Module, app.Office, adapters.Module)
	if err != nil {
		return nil, err
	}
	if err := server.CreateDatabase(ctx, database, ""); err != nil {
		return nil, fmt.Errorf("create database: %w", err)
	}
	db, err := sqlx.Open("postgres", server.URL(database))
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	for _, statement := range append(ddl, adapters.Schema...) {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return nil, errors.Join(fmt.Errorf("make tables: %w", err), db.Close())
		}
	}
	return db, nil
}
