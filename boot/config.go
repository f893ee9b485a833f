package boot

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/tidings-go/tidings/delivery"
)

// Config is how a process is configured from outside: by flags, then by
// environment variables, then by what the app's code says, then by defaults.
type Config struct {
	// DatabaseURL names the database: DATABASE_URL. It may hold a password.
	DatabaseURL string
	// AdminAddr is where /healthz, /readyz and /metrics are served:
	// TIDINGS_ADMIN_ADDR, default DefaultAdminAddr; Off serves nothing.
	AdminAddr string
	// ListenURL is where to LISTEN for other processes: TIDINGS_LISTEN_URL,
	// default DatabaseURL; Off polls only. Behind PgBouncer it names the server
	// itself.
	ListenURL string
	// PgBouncer says that a pooler in transaction mode stands before the server:
	// TIDINGS_PGBOUNCER. No statement is prepared, and ListenURL is Off unless it
	// is set.
	PgBouncer bool
	// Dev asks for the embedded PostgreSQL of development: TIDINGS_DEV.
	Dev bool
	// DevDir is its data folder: TIDINGS_DEV_DIR, default DefaultDevDir.
	DevDir string
	// PoolSize is how many connections the process opens at most:
	// TIDINGS_POOL_SIZE, default what delivery needs and ten for the app.
	PoolSize int
	// Delivery holds TIDINGS_WORKERS, _BATCH, _POLL, _LEASE, _MARGIN, _GRACE,
	// _HEARTBEAT, _MAINTENANCE and _NODE.
	Delivery delivery.Config
}

// Defaults of Config.
const (
	DefaultAdminAddr = "127.0.0.1:9464"
	DefaultDevDir    = ".tidings/pgdata"
)

// Off is the value that turns AdminAddr or ListenURL off.
const Off = "off"

// appConnections is how many connections a pool of the kernel's own has beyond
// what delivery needs: for the app's usecases and the metrics.
const appConnections = 10

// FromEnvironment returns base changed by the variables that lookup finds. All
// malformed ones are reported together, each by its name.
func FromEnvironment(base Config, lookup func(string) (string, bool)) (Config, error) {
	e := environment{lookup: lookup}
	c := base
	e.text("DATABASE_URL", &c.DatabaseURL)
	e.text("TIDINGS_ADMIN_ADDR", &c.AdminAddr)
	e.text("TIDINGS_LISTEN_URL", &c.ListenURL)
	e.boolean("TIDINGS_PGBOUNCER", &c.PgBouncer)
	e.boolean("TIDINGS_DEV", &c.Dev)
	e.text("TIDINGS_DEV_DIR", &c.DevDir)
	e.number("TIDINGS_POOL_SIZE", &c.PoolSize)
	e.text("TIDINGS_NODE", &c.Delivery.NodeName)
	e.number("TIDINGS_WORKERS", &c.Delivery.Workers)
	e.number("TIDINGS_BATCH", &c.Delivery.Batch)
	e.duration("TIDINGS_POLL", &c.Delivery.Poll)
	e.duration("TIDINGS_LEASE", &c.Delivery.Lease)
	e.duration("TIDINGS_MARGIN", &c.Delivery.Margin)
	e.duration("TIDINGS_GRACE", &c.Delivery.Grace)
	e.duration("TIDINGS_HEARTBEAT", &c.Delivery.Heartbeat)
	e.duration("TIDINGS_MAINTENANCE", &c.Delivery.Maintenance)
	return c, errors.Join(e.errs...)
}

// WithDefaults returns c with the defaults filled in.
func (c Config) WithDefaults() Config {
	c.Delivery = c.Delivery.WithDefaults()
	if c.AdminAddr == "" {
		c.AdminAddr = DefaultAdminAddr
	}
	if c.DevDir == "" {
		c.DevDir = DefaultDevDir
	}
	if c.PgBouncer && c.ListenURL == "" {
		c.ListenURL = Off
	}
	if c.PoolSize == 0 {
		c.PoolSize = c.Delivery.Connections() + appConnections
	}
	return c
}

type environment struct {
	lookup func(string) (string, bool)
	errs   []error
}

func (e *environment) value(name string) (string, bool) {
	v, ok := e.lookup(name)
	return v, ok && v != ""
}

func (e *environment) wrong(name, value, want string) {
	e.errs = append(e.errs, fmt.Errorf("%s=%q: want %s", name, value, want))
}

func (e *environment) text(name string, to *string) {
	if v, ok := e.value(name); ok {
		*to = v
	}
}

func (e *environment) boolean(name string, to *bool) {
	if v, ok := e.value(name); ok {
		b, err := strconv.ParseBool(v)
		if err != nil {
			e.wrong(name, v, "true or false")
			return
		}
		*to = b
	}
}

func (e *environment) number(name string, to *int) {
	if v, ok := e.value(name); ok {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			e.wrong(name, v, "a positive number")
			return
		}
		*to = n
	}
}

func (e *environment) duration(name string, to *time.Duration) {
	if v, ok := e.value(name); ok {
		d, err := time.ParseDuration(v)
		if err != nil || d <= 0 {
			e.wrong(name, v, "a positive duration such as 500ms, 30s or 5m")
			return
		}
		*to = d
	}
}

// LogAttrs returns the effective settings for a log line, without secrets.
func (c Config) LogAttrs() []any {
	return []any{
		slog.Bool("dev", c.Dev), slog.String("admin_addr", c.AdminAddr), slog.Int("pool_size", c.PoolSize),
		slog.String("schema", c.Delivery.Schema), slog.Int("workers", c.Delivery.Workers), slog.Int("batch", c.Delivery.Batch),
		slog.Duration("poll", c.Delivery.Poll), slog.Duration("lease", c.Delivery.Lease), slog.Duration("grace", c.Delivery.Grace),
	}
}
