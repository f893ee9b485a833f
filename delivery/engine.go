package delivery

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/persistence"
)

// ErrPool is returned by Start for a pool that is smaller than the node needs.
var ErrPool = errors.New("the connection pool is smaller than the node needs")

// ErrStopping is returned by Start while listeners still run that outlasted the
// last stop.
var ErrStopping = errors.New("the last stop has not ended: listeners still run")

// Engine is the delivery runtime of one node: a claimer that feeds workers, a
// heartbeat and maintenance. Start and Stop are safe for concurrent use and may
// be called again.
type Engine struct {
	config Config
	db     *persistence.Database
	bus    *events.Bus
	logger *slog.Logger
	q      queries

	observer Observer

	wakes    chan struct{} // something may be ready
	promotes chan struct{} // a waiting job may be due
	promoted chan struct{} // waiting or lost jobs may be ready again

	listenURL string // where to LISTEN; empty: poll only
	sender    string // whose notifications are this process's own

	mu      sync.Mutex // one start or stop at a time
	current atomic.Pointer[run]
}

// run is one life of the engine between Start and Stop.
type run struct {
	*Engine
	node  uuid.UUID
	model string
	own   connection // for heartbeat and claims

	registered atomic.Int64 // when, in nanoseconds
	claimed    atomic.Int64 // when the claimer last did its work, in nanoseconds
	lanes      []*lane
	byID       map[int32]*lane
	buffers    *buffers

	claiming  context.Context // until the stop begins
	stopClaim context.CancelFunc
	working   context.Context // until the grace period is over
	stopWork  context.CancelCauseFunc
	living    context.Context // until everything has ended
	stopLife  context.CancelFunc

	ended  chan struct{} // closed when a stop has ended the run
	loops  sync.WaitGroup
	claims sync.WaitGroup

	*complaints
}

// New returns an engine for the deferred subscribers of bus. Nothing runs until
// Start; call Wake after commits that add jobs.
func New(db *persistence.Database, bus *events.Bus, config Config) (*Engine, error) {
	config = config.WithDefaults()
	if err := config.Validate(); err != nil {
		return nil, err
	}
	e := &Engine{
		config: config, db: db, bus: bus, logger: config.Logger, observer: config.Observer,
		q: newQueries(db, config.Schema), wakes: make(chan struct{}, 1), promotes: make(chan struct{}, 1),
		promoted: make(chan struct{}, 1),
	}
	return e, nil
}

// ListenOn has the engine listen at url for the notifications of other
// processes, but not for those of own, this process's notifier. Call it before
// Start; without it the engine polls, which is sufficient.
func (e *Engine) ListenOn(url string, own *Notifier) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.listenURL, e.sender = url, own.sender
}

// Config returns the configuration with its defaults filled in.
func (e *Engine) Config() Config { return e.config }

// Wake has the claimer look for ready jobs now. It never blocks and may be
// called at any time.
func (e *Engine) Wake() { signal(e.wakes) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Start registers the node and starts claiming; on a started engine, or one
// whose bus has no deferred subscriber, it does nothing. The bus must be open.
// ctx bounds the start alone. After an error Start can be called again.
func (e *Engine) Start(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	subs := e.bus.Deferred()
	if r := e.current.Load(); r != nil {
		return r.mayStay()
	}
	if len(subs) == 0 {
		return nil
	}
	if most := e.db.Pool().Stats().MaxOpenConnections; most > 0 && most < e.config.Connections() {
		return fmt.Errorf("%w: it has %d connections, %d workers need %d: raise the pool or lower the workers",
			ErrPool, most, e.config.Workers, e.config.Connections())
	}
	for _, s := range e.q.hot() {
		if err := s.Prepare(ctx); err != nil {
			return fmt.Errorf("start delivery: %w", err)
		}
	}
	r, err := e.newRun(subs)
	if err != nil {
		return fmt.Errorf("start delivery: %w", err)
	}
	if err := r.register(ctx); err != nil {
		r.own.Close()
		return fmt.Errorf("start delivery: %w", err)
	}
	r.claimed.Store(time.Now().UnixNano())
	e.current.Store(r)
	r.loops.Go(r.heartbeat)
	r.loops.Go(r.maintain)
	if e.listenURL != "" {
		r.loops.Go(r.listen)
	}
	r.claims.Go(r.claimer)
	e.logger.InfoContext(ctx, "delivery started", slog.String("node", e.config.NodeName), slog.Int("listeners", len(subs)),
		slog.Int("workers", e.config.Workers))
	return nil
}

func (e *Engine) newRun(subs []*events.Subscriber) (*run, error) {
	model, err := e.config.Model, error(nil)
	if model == "" {
		if model, err = fingerprint(e.bus); err != nil {
			return nil, err
		}
	}
	r := &run{
		Engine: e, model: model, node: uuid.New(), own: e.ownConnection(), byID: map[int32]*lane{},
		ended: make(chan struct{}), complaints: newComplaints(e.logger),
	}
	slots := e.config.Workers
	if len(subs) > 1 { // one slow or poisoned listener cannot take all workers
		slots = max(1, e.config.Workers*3/4)
	}
	for _, s := range subs {
		l := newLane(s, e.config, slots)
		r.lanes = append(r.lanes, l)
		r.byID[s.ID] = l
	}
	r.buffers = newBuffers(e.config.Workers, r.lanes)
	r.claiming, r.stopClaim = context.WithCancel(context.Background())
	r.working, r.stopWork = context.WithCancelCause(context.Background())
	r.living, r.stopLife = context.WithCancel(context.Background())
	return r, nil
}

// mayStay returns an error if the run is one whose stop has not ended.
func (r *run) mayStay() error {
	if r.claiming.Err() != nil {
		return fmt.Errorf("start delivery: %w", ErrStopping)
	}
	return nil
}

// errStopping is the cause with which running listeners are cancelled when the
// grace period is over.
var errStopping = errors.New("the node is stopping")

// Stop stops claiming, hands unstarted claims back, lets running listeners end
// within the grace period, or what ctx leaves of it, then cancels them, rolls
// them back and hands their jobs back unspent. It returns an error if listeners
// are still running when ctx is done; what is left of the stop is then done when
// they end, and Start returns ErrStopping until then. On a stopped engine it does
// nothing.
func (e *Engine) Stop(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.current.Load()
	if r == nil {
		return nil
	}
	if r.claiming.Err() == nil {
		r.stopClaim()
		r.buffers.close()
		go r.end()
	}
	grace := time.NewTimer(e.grace(ctx))
	defer grace.Stop()
	select {
	case <-r.ended:
	case <-grace.C:
		r.stopWork(errStopping)
	}
	select {
	case <-r.ended:
	case <-ctx.Done():
		return fmt.Errorf("stop delivery: listeners still running that ignore their context: %w", context.Cause(ctx))
	}
	e.current.Store(nil)
	e.logger.InfoContext(ctx, "delivery stopped", slog.String("node", e.config.NodeName))
	return nil
}

// end ends the run once its listeners have ended.
func (r *run) end() {
	defer close(r.ended)
	r.claims.Wait()
	r.stopLife()
	r.loops.Wait()
	r.deregister()
	r.flush(true)
	r.own.Close()
	r.stopWork(errStopping)
}

// grace returns the grace period, or four fifths of what ctx leaves if that is
// less: the rest is for rolling back and handing back.
func (e *Engine) grace(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(e.config.Grace, time.Until(deadline)*4/5)
	}
	return e.config.Grace
}

// backendPrefix begins the application name of processing transactions. It
// holds a hash of the schema, since two apps may share a database and the name
// has 63 bytes at most.
func backendPrefix(framework string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(framework))
	return fmt.Sprintf("tidings/%08x/", h.Sum32())
}
