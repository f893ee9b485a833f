package boot

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/tidings-go/tidings/persistence"
)

// Pool is a connection pool whose database is named later: an app is assembled
// before its development or test database exists. An app that was stopped may
// start again, so a closed pool can be opened again.
type Pool struct {
	*sqlx.DB
	connector *lateConnector
	size      int
	closed    bool
}

// NewPool returns a pool of at most size connections.
func NewPool(size int) *Pool {
	p := &Pool{connector: &lateConnector{}, size: size}
	p.DB = sqlx.NewDb(p.open(), "postgres")
	return p
}

func (p *Pool) open() *sql.DB {
	db := sql.OpenDB(p.connector)
	db.SetMaxOpenConns(p.size)
	db.SetMaxIdleConns(p.size)
	return db
}

// Close closes the pool until Connect; again is no error, and neither is a
// connection that was lost before.
func (p *Pool) Close() error {
	p.closed = true
	if err := p.DB.Close(); err != nil && !persistence.IsConnectionError(err) {
		return err
	}
	return nil
}

// Connect names the database, and opens a closed pool again; it opens no
// connection. Nothing else may use the pool meanwhile.
func (p *Pool) Connect(dsn string) error {
	dsn, err := WithSettings(dsn)
	if err != nil {
		return fmt.Errorf("database URL: %w", err)
	}
	c, err := pq.NewConnector(dsn)
	if err != nil {
		return fmt.Errorf("database URL: %w", err)
	}
	c.Dialer(newDialer())
	p.connector.set(c)
	if p.closed {
		p.DB.DB, p.closed = p.open(), false
	}
	return nil
}

// WithSettings returns dsn with what the kernel needs to be set and the URL
// leaves open: the session's time zone and the TLS mode (libpq's default, where
// lib/pq would refuse a server without TLS).
func WithSettings(dsn string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		// The text may hold a password: say nothing of it.
		return "", errors.New("want postgres://user@host:port/database?…")
	}
	q := u.Query()
	for name, value := range map[string]string{"timezone": "UTC", "sslmode": "prefer", "application_name": "tidings"} {
		if !q.Has(name) {
			q.Set(name, value)
		}
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

type lateConnector struct {
	mu   sync.RWMutex
	real driver.Connector
}

func (c *lateConnector) set(real driver.Connector) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.real = real
}

var errNoDatabase = errors.New("no database is named yet: the app has not started")

// Connect opens a connection.
func (c *lateConnector) Connect(ctx context.Context) (driver.Conn, error) {
	c.mu.RLock()
	real := c.real
	c.mu.RUnlock()
	if real == nil {
		return nil, errNoDatabase
	}
	return real.Connect(ctx)
}

// Driver returns lib/pq's driver.
func (c *lateConnector) Driver() driver.Driver { return &pq.Driver{} }
