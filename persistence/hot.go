package persistence

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
)

// A statement of the app that comes again is prepared on the pool: in a
// transaction a prepared statement with arguments takes one round trip, an ad hoc
// one two, which halves the throughput of short transactions (measured).
const (
	hotUses    = 3   // how often a text must come before it is prepared
	hotTexts   = 256 // how many texts are known at most: each may be prepared on every connection
	hotTimeout = 5 * time.Second
)

// hotStatements knows the app's statements by their text. Preparing takes a
// connection, so it happens aside, on a goroutine that lives while there is
// something to prepare: no transaction ever waits for it.
type hotStatements struct {
	pool *sqlx.DB

	mu      sync.Mutex
	texts   map[string]*hotText
	queue   []*hotText
	running bool
	workers sync.WaitGroup
}

type hotText struct {
	text   string
	uses   int
	queued bool
	stmt   atomic.Pointer[sql.Stmt]
}

func newHotStatements(pool *sqlx.DB) *hotStatements {
	return &hotStatements{pool: pool, texts: map[string]*hotText{}}
}

// get returns the prepared statement of text, or nil where there is none yet. A
// text that is not known is refused if it controls the transaction.
func (h *hotStatements) get(text string) (*sql.Stmt, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t, ok := h.texts[text]
	if !ok {
		if err := refuseControl(text); err != nil {
			return nil, err
		}
		if len(h.texts) >= hotTexts {
			h.forgetCold()
		}
		if len(h.texts) >= hotTexts {
			return nil, nil
		}
		t = &hotText{text: text}
		h.texts[text] = t
	}
	t.uses++
	if t.uses >= hotUses && !t.queued {
		t.queued = true
		h.queue = append(h.queue, t)
		if !h.running {
			h.running = true
			h.workers.Go(h.prepare)
		}
	}
	return t.stmt.Load(), nil
}

// forgetCold makes room: texts that came once or twice, as those with values
// written into them do, are not worth knowing.
func (h *hotStatements) forgetCold() {
	for text, t := range h.texts {
		if !t.queued {
			delete(h.texts, text)
		}
	}
}

// prepare prepares what is queued. A text that cannot be prepared stays ad hoc.
func (h *hotStatements) prepare() {
	for {
		h.mu.Lock()
		if len(h.queue) == 0 {
			h.running = false
			h.mu.Unlock()
			return
		}
		t := h.queue[0]
		h.queue = h.queue[1:]
		h.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), hotTimeout)
		if stmt, err := h.pool.PrepareContext(ctx, t.text); err == nil {
			t.stmt.Store(stmt)
		}
		cancel()
	}
}

// isStale says whether err means that a prepared statement is out of date: a
// changed table (cached plan must not change result type), or a session that no
// longer knows it.
func isStale(err error) bool {
	state := SQLState(err)
	return state == "0A000" || state == "26000"
}

// stale drops the statement of text after an error that says it is out of date.
func (h *hotStatements) stale(text string, err error) {
	if !isStale(err) {
		return
	}
	h.mu.Lock()
	t, ok := h.texts[text]
	delete(h.texts, text)
	h.mu.Unlock()
	if ok {
		closeStmt(t.stmt.Swap(nil))
	}
}

// close closes all statements; they are prepared anew when they come again.
func (h *hotStatements) close() {
	h.mu.Lock()
	texts := h.texts
	h.texts, h.queue = map[string]*hotText{}, nil
	h.mu.Unlock()
	h.workers.Wait()
	for _, t := range texts {
		closeStmt(t.stmt.Swap(nil))
	}
}

func closeStmt(stmt *sql.Stmt) {
	if stmt != nil {
		_ = stmt.Close() // an error means a lost connection
	}
}
