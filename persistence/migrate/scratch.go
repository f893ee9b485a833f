package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/google/uuid"
	_ "github.com/lib/pq" // the driver "postgres"

	"github.com/tidings-go/tidings/persistence/schema"
)

const (
	dropTimeout = time.Minute
	// leftAlone is the age in seconds from which a scratch database without a
	// session is taken for one that a killed process left.
	leftAlone = 24 * 3600
)

// server is where scratch databases are made.
type server struct {
	url   *url.URL
	admin *sql.DB
}

func connect(databaseURL string) (*server, error) {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return nil, errors.New("database URL: want postgres://user@host:port/database?…") // may hold a password
	}
	db, err := sql.Open("postgres", databaseURL)
	if err != nil {
		return nil, fmt.Errorf("connect to server: %w", err)
	}
	return &server{u, db}, nil
}

// withScratch calls use with a pool on a fresh database, which is dropped
// afterwards whatever happens.
func (s *server) withScratch(ctx context.Context, what string, use func(*sql.DB) error) (err error) {
	name := fmt.Sprintf("tidings_scratch_%d_%s_%.8s", time.Now().Unix(), what, uuid.NewString())
	if err := s.run(ctx, "CREATE DATABASE "+schema.Quote(name)); err != nil {
		return fmt.Errorf("create scratch database (the user needs CREATEDB): %w", err)
	}
	defer func() {
		drop, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
		defer cancel()
		err = errors.Join(err, s.drop(drop, name))
	}()
	u := *s.url
	u.Path = "/" + name
	db, err := sql.Open("postgres", u.String())
	if err != nil {
		return fmt.Errorf("connect to scratch database: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return use(db)
}

func (s *server) drop(ctx context.Context, name string) error {
	if err := s.run(ctx, "DROP DATABASE IF EXISTS "+schema.Quote(name)+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("drop scratch database %s: %w", name, err)
	}
	return nil
}

// run pins a connection: a pool would repeat a statement on a lost one.
func (s *server) run(ctx context.Context, statement string) error {
	conn, err := s.admin.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.ExecContext(ctx, statement)
	return err
}

// sweep drops what killed processes left.
func (s *server) sweep(ctx context.Context) error {
	rows, err := s.admin.QueryContext(ctx, listScratch, leftAlone)
	if err != nil {
		return fmt.Errorf("list scratch databases: %w", err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return fmt.Errorf("list scratch databases: %w", err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("list scratch databases: %w", err)
	}
	for _, name := range names {
		_ = s.drop(ctx, name) // another process may do the same, or own it
	}
	return nil
}
