package delivery

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/persistence/schema"
)

// Bounds of what a read of the backlog costs.
const (
	// countBound is how many jobs of one listener in one state each read counts;
	// where there are more, they are counted apart and not every time.
	countBound = 1000
	// frontSize is how many of a listener's ready jobs are looked at for the one
	// that has been due longest.
	frontSize      = 100
	backlogTimeout = 3 * time.Second
	// Counting a state apart again waits a hundred times as long as it took, so
	// that it takes at most a hundredth of a connection, and at least this long.
	recountWait  = 10 * time.Second
	recountShare = 100
)

// Backlog is what the database says of the jobs that are not over, at one
// moment. Every node gives the same answer, and so does a process without
// workers.
type Backlog struct {
	Listeners []ListenerBacklog
	// OldestSnapshot is the age of the oldest transaction in this database, which
	// holds back vacuum; other users' are seen with the role pg_read_all_stats.
	OldestSnapshot time.Duration
}

// ListenerBacklog is the backlog of one stored listener.
type ListenerBacklog struct {
	// Listener is its identity. It may be one that no program declares any more.
	Listener string
	// Nodes is how many live nodes have the listener. Without one its ready and
	// waiting jobs are blocked.
	Nodes int
	// QueueAge is how long the oldest due job has been due without being claimed,
	// of those at the front of the queue; 0 when none is due.
	QueueAge time.Duration
	// OldestUnfinished is the age of the oldest job that is neither completed,
	// failed nor cancelled, whatever it waits for; 0 when there is none.
	OldestUnfinished time.Duration
	// Jobs by stored state. Completed and cancelled jobs are not counted: there
	// is no index over them, and there are millions.
	Ready, Waiting, Claimed, Failed int64
}

// BacklogReader reads the backlog of one framework schema. It is safe for
// concurrent use.
type BacklogReader struct {
	db                                    *persistence.Database
	settings, read, snapshot              *persistence.Statement
	countReady, countWaiting, countFailed *persistence.Statement

	mu       sync.Mutex
	recounts map[recountKey]recount
}

type recountKey struct{ listener, state string }

// recount is one count of more than countBound jobs.
type recount struct {
	jobs int64
	next time.Time // when to count again
}

// NewBacklogReader returns a reader of the schema framework.
func NewBacklogReader(db *persistence.Database, framework string) *BacklogReader {
	s := func(text string) *persistence.Statement {
		return db.Statement(fmt.Sprintf(text, schema.Quote(framework)))
	}
	return &BacklogReader{
		db: db, settings: db.Statement(backlogSettingsSQL), read: s(backlogSQL), snapshot: db.Statement(snapshotSQL),
		countReady: s(countReadySQL), countWaiting: s(countWaitingSQL), countFailed: s(countFailedSQL),
		recounts: map[recountKey]recount{},
	}
}

// Read reads the backlog. It costs a few milliseconds whatever the number of
// finished or waiting jobs: a state of more than a thousand jobs of a listener
// is counted apart, at most every ten seconds, by its index alone.
func (b *BacklogReader) Read(ctx context.Context) (Backlog, error) {
	var log Backlog
	err := b.bounded(ctx, func(ctx context.Context, t *persistence.Transaction) (err error) {
		if log.Listeners, err = b.listeners(ctx, t); err != nil {
			return err
		}
		var oldest float64
		if err := b.snapshot.QueryOne(ctx, t, nil, &oldest); err != nil {
			return err
		}
		log.OldestSnapshot = seconds(oldest)
		return nil
	})
	if err != nil {
		return Backlog{}, fmt.Errorf("read backlog: %w", err)
	}
	for i := range log.Listeners {
		l := &log.Listeners[i]
		b.exact(ctx, l.Listener, events.StateReady, b.countReady, &l.Ready)
		b.exact(ctx, l.Listener, events.StateWaiting, b.countWaiting, &l.Waiting)
		b.exact(ctx, l.Listener, events.StateFailed, b.countFailed, &l.Failed)
	}
	return log, nil
}

// bounded runs f in a read-only transaction that can neither take long nor scan
// the table.
func (b *BacklogReader) bounded(ctx context.Context, f func(context.Context, *persistence.Transaction) error) error {
	return b.db.Required(ctx, persistence.TxOptions{ReadOnly: true}, func(ctx context.Context, t *persistence.Transaction) error {
		var settings string
		if err := b.settings.QueryOne(ctx, t, []any{backlogTimeout.Milliseconds()}, &settings); err != nil {
			return err
		}
		return f(ctx, t)
	})
}

func (b *BacklogReader) listeners(ctx context.Context, t *persistence.Transaction) ([]ListenerBacklog, error) {
	var all []ListenerBacklog
	err := b.read.QueryEach(ctx, t, []any{frontSize, countBound}, func(rows *sql.Rows) error {
		var l ListenerBacklog
		var age, oldest float64
		err := rows.Scan(&l.Listener, &l.Nodes, &age, &oldest, &l.Ready, &l.Waiting, &l.Claimed, &l.Failed)
		if err != nil {
			return err
		}
		l.QueueAge, l.OldestUnfinished = seconds(age), seconds(oldest)
		all = append(all, l)
		return nil
	})
	slices.SortFunc(all, func(x, y ListenerBacklog) int { return strings.Compare(x.Listener, y.Listener) })
	return all, err
}

// exact replaces a count that reached the bound by the last full one, after
// making it where it is due. A full count that fails or takes too long leaves
// what is known: at least the bound.
func (b *BacklogReader) exact(ctx context.Context, listener, state string, count *persistence.Statement, jobs *int64) {
	if *jobs < countBound {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	key := recountKey{listener, state}
	last, known := b.recounts[key]
	if now := time.Now(); !known || now.After(last.next) {
		var n int64
		err := b.bounded(ctx, func(ctx context.Context, t *persistence.Transaction) error {
			return count.QueryOne(ctx, t, []any{listener}, &n)
		})
		took := time.Since(now)
		if err == nil || errors.Is(err, sql.ErrNoRows) {
			last.jobs = n
		}
		last.next = now.Add(max(recountWait, recountShare*took))
		b.recounts[key] = last
	}
	*jobs = max(*jobs, last.jobs)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
