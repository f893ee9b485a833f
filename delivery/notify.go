package delivery

import (
	"context"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/persistence"
)

// notifyDebounce is how long the notifier waits after a notification before it
// sends the next: one that comes meanwhile stands for all commits until then.
const notifyDebounce = 5 * time.Millisecond

// notifyTimeout bounds one notification. Polling covers what is not sent.
const notifyTimeout = 5 * time.Second

// notifySQL sends a notification that carries no data worth a flush of the log.
// %[1]s and %[2]s are made by this package from hexadecimal digits: channel and
// sender. It is one statement without arguments, so one round trip.
const notifySQL = `SELECT set_config('synchronous_commit', 'off', true), pg_notify('%[1]s', '%[2]s')`

// Notifier tells other processes that jobs were added: debounced, outside the
// publisher's transaction, since NOTIFY takes a global lock at commit (inside it
// halves the throughput of 8 to 32 publishers, measured). A notification that
// fails or is late costs a poll; nothing of it ever reaches a publisher. All its
// methods are safe for concurrent use and may be called again.
type Notifier struct {
	db      *persistence.Database
	sender  string
	text    string
	pending chan struct{}
	*complaints

	mu   sync.Mutex
	stop context.CancelFunc
	done chan struct{}
}

// NewNotifier returns a notifier that sends nothing until Start.
func NewNotifier(db *persistence.Database, c Config) *Notifier {
	c = c.WithDefaults()
	sender := uuid.NewString()
	return &Notifier{
		db: db, sender: sender, text: fmt.Sprintf(notifySQL, notifyChannel(c.Schema), sender),
		pending: make(chan struct{}, 1), complaints: newComplaints(c.Logger),
	}
}

// notifyChannel is the channel of one framework schema.
func notifyChannel(framework string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(framework))
	return fmt.Sprintf("tidings_%016x", h.Sum64())
}

// Notify has the other processes told soon. It never blocks and never fails.
func (n *Notifier) Notify() { signal(n.pending) }

// Start begins to send.
func (n *Notifier) Start() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stop != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	n.stop, n.done = cancel, done
	go func() {
		defer close(done)
		n.loop(ctx)
	}()
}

// Stop sends what is pending, if that goes quickly, and ends.
func (n *Notifier) Stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stop == nil {
		return
	}
	n.stop()
	<-n.done
	n.flush(true)
	n.stop = nil
}

func (n *Notifier) loop(stop context.Context) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(stop))
	defer cancel()
	for stop.Err() == nil {
		select {
		case <-n.pending:
			await(stop, n.send(ctx))
		case <-stop.Done():
		}
		sleep(stop, notifyDebounce) // once more round: something may be pending
	}
	select {
	case <-n.pending:
		await(stop, n.send(ctx))
	default:
	}
}

// await waits for sent; once the notifier is to stop, not for long. A driver may
// wait for a silent server longer than its context allows (lib/pq does): that
// holds up the next notification, but not the stop.
func await(stop context.Context, sent <-chan struct{}) {
	select {
	case <-sent:
		return
	case <-stop.Done():
	}
	timer := time.NewTimer(notifyTimeout / 10)
	defer timer.Stop()
	select {
	case <-sent:
	case <-timer.C:
	}
}

// send sends a notification and closes the channel that it returns.
func (n *Notifier) send(ctx context.Context) <-chan struct{} {
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
		defer cancel()
		conn, err := n.db.Pool().Conn(ctx)
		if err == nil {
			_, err = conn.ExecContext(ctx, n.text)
			_ = conn.Close()
		}
		if err != nil {
			n.complain("other nodes not notified: they poll", err)
		}
	}()
	return sent
}
