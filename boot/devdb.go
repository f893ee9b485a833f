package boot

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	_ "github.com/lib/pq" // the driver "postgres"

	"github.com/tidings-go/tidings/persistence/pgserver"
	"github.com/tidings-go/tidings/persistence/schema"
)

// devDatabase is the name of the database on a development server.
const devDatabase = "app"

// StartDev starts the embedded PostgreSQL of development on the data folder dir
// and returns the server and the URL of its database, which it creates if it is
// new. The server ends with this process, whatever way that ends; the data stay.
// PostgreSQL is the installed one, or else fetched, see pgserver.FetchConfig;
// slog's default logger tells of a fetch.
func StartDev(ctx context.Context, dir string) (*pgserver.Server, string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, "", fmt.Errorf("development database: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o755); err != nil {
		return nil, "", fmt.Errorf("development database: %w", err)
	}
	server, err := pgserver.Start(ctx, pgserver.Config{DataDir: abs, Fetch: &pgserver.FetchConfig{Logger: slog.Default()}})
	if err != nil {
		return nil, "", fmt.Errorf("development database: %w", err)
	}
	if err := ensureDatabase(ctx, server); err != nil {
		_ = server.Stop(ctx)
		return nil, "", fmt.Errorf("development database: %w", err)
	}
	return server, server.URL(devDatabase), nil
}

func ensureDatabase(ctx context.Context, server *pgserver.Server) error {
	db, err := sql.Open("postgres", server.URL("postgres"))
	if err != nil {
		return err
	}
	defer db.Close()
	var exists bool
	err = db.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, devDatabase).Scan(&exists)
	if err != nil || exists {
		return err
	}
	return server.CreateDatabase(ctx, devDatabase, "")
}

// CreateSchema creates the model's tables and then runs the app's own
// statements, all in one transaction, in a database that has none of the model's
// schemas; in any other it does nothing. It is for development databases alone:
// a database that matters is changed by reviewed migrations.
func CreateSchema(ctx context.Context, db *sql.DB, framework string, m schema.Model, own []string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("create development schema: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	var exists bool
	err = tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)`, framework).Scan(&exists)
	if err != nil {
		return fmt.Errorf("create development schema: %w", err)
	}
	if exists {
		return nil
	}
	for _, statement := range append(m.DDL(), own...) {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("create development schema: %w: %.200s", err, statement)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("create development schema: %w", err)
	}
	return nil
}

// RunningDev returns the URL of the development database of a server that
// another process runs on the data folder dir.
func RunningDev(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("development database: %w", err)
	}
	url, err := pgserver.RunningURL(abs, devDatabase)
	if err != nil {
		return "", fmt.Errorf("development database: %w", err)
	}
	return url, nil
}
