package pgserver

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/lib/pq"
)

// CreateDatabase creates a database as a copy of template; empty means template1.
// On PostgreSQL 15 and newer it copies files (STRATEGY FILE_COPY), about 30 ms
// with fsync off; older versions have no other way. Names are quoted: any text
// without NUL up to 63 bytes is one. Nobody may be connected to the template;
// several copies of one template may be made at once. Errors are lib/pq's
// *pq.Error, such as 42P04 for an existing name.
func (s *Server) CreateDatabase(ctx context.Context, name, template string) error {
	statement := "CREATE DATABASE " + pq.QuoteIdentifier(name)
	if template != "" {
		statement += " TEMPLATE " + pq.QuoteIdentifier(template)
	}
	if s.config.Binaries.Major >= 15 {
		statement += " STRATEGY FILE_COPY"
	}
	return s.administer(ctx, "create database", name, statement)
}

// DropDatabase drops a database, ending its sessions (WITH FORCE). A database
// that does not exist is fine.
func (s *Server) DropDatabase(ctx context.Context, name string) error {
	return s.administer(ctx, "drop database", name,
		"DROP DATABASE IF EXISTS "+pq.QuoteIdentifier(name)+" WITH (FORCE)")
}

func (s *Server) administer(ctx context.Context, what, name, statement string) error {
	err := s.onServer(ctx, func(db *sql.DB) error {
		conn, err := db.Conn(ctx) // pinned: a pool would repeat the statement after a broken connection
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.ExecContext(ctx, statement)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s %q: %w", what, name, err)
	}
	return nil
}

// onServer runs do with a pool of its own on database postgres.
func (s *Server) onServer(ctx context.Context, do func(*sql.DB) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	db, err := sql.Open("postgres", s.URL("postgres"))
	if err != nil {
		return err
	}
	defer db.Close()
	return do(db)
}
