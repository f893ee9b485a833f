package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/tidings-go/tidings/persistence/pgserver"
)

// server is a PostgreSQL of the bench's own.
type server struct{ *pgserver.Server }

func startServer(ctx context.Context, durable bool) (server, error) {
	s, err := pgserver.Start(ctx, pgserver.Config{
		Durable: durable, Port: -1,
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
	admin, err := openPool(s.TCPURL("postgres"), 1, nil)
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
	db, err := openPool(s.TCPURL(name), size, nil)
	if err == nil && !exists {
		err = execute(ctx, db, ddl...)
	}
	return db, err
}

// drop drops a database, if there is one.
func (s server) drop(ctx context.Context, name string) error {
	admin, err := openPool(s.TCPURL("postgres"), 1, nil)
	if err != nil {
		return err
	}
	defer admin.Close()
	return execute(ctx, admin, `DROP DATABASE IF EXISTS `+pq.QuoteIdentifier(name)+` WITH (FORCE)`)
}

// openPool opens a pool of size connections, through a wrapper if there is one.
func openPool(url string, size int, wrap func(driver.Connector) driver.Connector) (*sqlx.DB, error) {
	connector, err := pq.NewConnector(url)
	if err != nil {
		return nil, err
	}
	var c driver.Connector = connector
	if wrap != nil {
		c = wrap(c)
	}
	db := sqlx.NewDb(sql.OpenDB(c), "postgres")
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
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

// verify fails if the work was not done: a fast contender that loses jobs wins
// nothing. The query says so, with the numbers for which the caller passes args.
func (s server) verify(ctx context.Context, name, query string, args ...any) error {
	db, err := s.database(ctx, name, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	var ok bool
	if err := db.GetContext(ctx, &ok, query, args...); err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%s did not do its work: %s %v", name, query, args)
	}
	return nil
}
