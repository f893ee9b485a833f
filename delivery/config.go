package delivery

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"time"
)

// Config says how a node delivers. The zero value of a field means its default.
type Config struct {
	// Schema holds the framework's tables; default "tidings".
	Schema string
	// NodeName is what people know the node by; default host:pid.
	NodeName string
	// Workers is how many listeners run at once; default 4 × GOMAXPROCS. More
	// is not faster: 8 beat 32 on two cores (measured).
	Workers int
	// Batch is how many jobs a claim takes at most; default 100. 500 gains
	// little and holds leases longer (measured).
	Batch int
	// Poll is how long the claimer waits when nothing wakes it; default 1s.
	// Polling alone is sufficient.
	Poll time.Duration
	// Lease is how long a claimed, unstarted job is held without renewal;
	// default 60s. A listener with a longer time limit gets a longer lease.
	Lease time.Duration
	// Margin is what the server grants a processing transaction beyond the
	// listener's time limit before it ends it; default 5s.
	Margin time.Duration
	// Grace is how long running listeners may go on at a stop; default 15s.
	Grace time.Duration
	// Heartbeat is how often the node renews its registration, which holds for
	// three times as long; default 10s.
	Heartbeat time.Duration
	// Maintenance is how often this node recovers, promotes and terminates;
	// default 1s.
	Maintenance time.Duration
	// MaxLeaseLosses is how many leases a job may lose before a start until it
	// is FAILED; default 20.
	MaxLeaseLosses int
	// MaxHandBacks is how often a started job may be handed back at a stop
	// before that counts as a failed attempt; default 5.
	MaxHandBacks int
	// ErrorLimit is how many bytes of an error's text are kept; default 8 KiB.
	ErrorLimit int
	// Model names the rules by which this node rebuilds stored events; default is
	// a fingerprint of the program and of its events' tables. While live nodes
	// differ in it, an event that cannot be rebuilt does not fail its job: the job
	// is handed back, for another node may be able to.
	Model string
	// Logger is where noteworthy things go; default slog.Default(). Nothing is
	// logged for each job at info or above: a repeated thing comes at most every
	// ten seconds, with how often it came.
	Logger *slog.Logger
	// Observer sees what the node does; default is nobody.
	Observer Observer
}

// DefaultSchema is the schema of the framework's tables.
const DefaultSchema = "tidings"

// WithDefaults returns c with the defaults filled in.
func (c Config) WithDefaults() Config {
	if c.NodeName == "" {
		host, _ := os.Hostname()
		c.NodeName = fmt.Sprintf("%s:%d", host, os.Getpid())
	}
	c.Schema = or(c.Schema, DefaultSchema)
	c.Workers = or(c.Workers, 4*runtime.GOMAXPROCS(0))
	c.Batch = or(c.Batch, 100)
	c.Poll = or(c.Poll, time.Second)
	c.Lease = or(c.Lease, time.Minute)
	c.Margin = or(c.Margin, 5*time.Second)
	c.Grace = or(c.Grace, 15*time.Second)
	c.Heartbeat = or(c.Heartbeat, 10*time.Second)
	c.Maintenance = or(c.Maintenance, time.Second)
	c.MaxLeaseLosses = or(c.MaxLeaseLosses, 20)
	c.MaxHandBacks = or(c.MaxHandBacks, 5)
	c.ErrorLimit = or(c.ErrorLimit, 8<<10)
	c.Logger = or(c.Logger, slog.Default())
	if c.Observer == nil {
		c.Observer = blind{}
	}
	return c
}

func or[T comparable](value, byDefault T) T {
	var zero T
	if value == zero {
		return byDefault
	}
	return value
}

// Validate returns everything wrong with c after WithDefaults, or nil.
func (c Config) Validate() error {
	var errs []error
	positive := func(name string, ok bool, value any) {
		if !ok {
			errs = append(errs, fmt.Errorf("delivery: %s is %v: want a positive value", name, value))
		}
	}
	positive("workers", c.Workers > 0, c.Workers)
	positive("batch", c.Batch > 0, c.Batch)
	positive("poll", c.Poll > 0, c.Poll)
	positive("lease", c.Lease >= time.Millisecond, c.Lease)
	positive("margin", c.Margin >= time.Millisecond, c.Margin)
	positive("grace", c.Grace > 0, c.Grace)
	positive("heartbeat", c.Heartbeat >= time.Millisecond, c.Heartbeat)
	positive("maintenance", c.Maintenance > 0, c.Maintenance)
	positive("lost leases", c.MaxLeaseLosses > 0, c.MaxLeaseLosses)
	positive("hand-backs", c.MaxHandBacks > 0, c.MaxHandBacks)
	positive("error text", c.ErrorLimit > 0, c.ErrorLimit)
	return errors.Join(errs...)
}

// Connections is how many connections of the pool a node needs at least: one per
// worker and one for claims, failures and maintenance. With one more the node
// keeps a connection for its heartbeat and claims, whatever else waits for the
// pool; a pool that the app can exhaust should have it.
func (c Config) Connections() int { return c.Workers + 1 }
