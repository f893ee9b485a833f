package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq" // the driver "postgres"

	"github.com/tidings-go/tidings/persistence/pgserver"
)

// server is a durable PostgreSQL of the bench's own.
type server struct{ *pgserver.Server }

func startServer(ctx context.Context) (server, error) {
	s, err := pgserver.Start(ctx, pgserver.Config{
		Durable: true, Port: -1,
		Settings: map[string]string{"max_connections": "200", "shared_buffers": "512MB", "max_wal_size": "4GB"},
	})
	return server{s}, err
}

func (s server) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return s.Stop(ctx)
}

// database makes a database with the statements run in it, or returns the one
// made before, with a pool of size connections.
func (s server) database(ctx context.Context, name string, size int, ddl ...string) (*sqlx.DB, error) {
	admin, err := sqlx.Open("postgres", s.TCPURL("postgres"))
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	var exists bool
	if err := admin.GetContext(ctx, &exists, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name); err != nil {
		return nil, err
	}
	if !exists {
		if err := s.CreateDatabase(ctx, name, ""); err != nil {
			return nil, err
		}
	}
	db, err := sqlx.Open("postgres", s.TCPURL(name))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	if !exists {
		err = execute(ctx, db, ddl...)
	}
	return db, err
}

// execute runs statements one after another.
func execute(ctx context.Context, db *sqlx.DB, statements ...string) error {
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%.100s: %w", statement, err)
		}
	}
	return nil
}
