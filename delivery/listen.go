package delivery

import (
	"context"
	"time"

	"github.com/lib/pq"
)

// Reconnection of the listening connection, and how often a silent one is
// checked: a connection that a network dropped without a word shows only so.
const (
	listenMinReconnect = 100 * time.Millisecond
	listenMaxReconnect = 10 * time.Second
	listenPing         = 90 * time.Second
)

// listen wakes the claimer when another process notifies. It is a help: polling
// alone is sufficient, so its errors are complained of and nothing more.
func (r *run) listen() {
	l := pq.NewListener(r.listenURL, listenMinReconnect, listenMaxReconnect, func(_ pq.ListenerEventType, err error) {
		if err != nil && r.living.Err() == nil {
			r.complain("not listening for other nodes: polling", err)
		}
	})
	stop := context.AfterFunc(r.living, func() { _ = l.Close() })
	defer func() {
		stop()
		_ = l.Close()
	}()
	// Listen waits for the first connection; closing the listener ends it.
	if err := l.Listen(notifyChannel(r.config.Schema)); err != nil {
		if r.living.Err() == nil {
			r.complain("not listening for other nodes: polling", err)
		}
		return
	}
	r.Wake() // what came before the first LISTEN
	r.heed(l)
}

// heed wakes the claimer for every notification of another process.
func (r *run) heed(l *pq.Listener) {
	ping := time.NewTicker(listenPing)
	defer ping.Stop()
	for {
		select {
		case <-r.living.Done():
			return
		case n, ok := <-l.NotificationChannel():
			if !ok {
				return
			}
			// nil follows a reconnection: notifications may have been lost.
			if n == nil || n.Extra != r.sender {
				r.Wake()
			}
		case <-ping.C:
			_ = l.Ping() // an error reconnects; closing the listener ends the wait
		}
	}
}
