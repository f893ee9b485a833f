package delivery

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// complaintInterval is how often one thing is logged at most: neither a database
// that is down nor ten thousand failing jobs may flood the log.
const complaintInterval = 10 * time.Second

// complaints logs what people should look at: each thing at once, and then at
// most once per interval, with how often it came in between. It is safe for
// concurrent use. Its memory is bounded by the messages and the listeners.
type complaints struct {
	log  *slog.Logger
	mu   sync.Mutex
	said map[complaintKey]*complaint
}

// complaintKey is a message and what it is about, a listener or nothing.
type complaintKey struct{ message, about string }

type complaint struct {
	level slog.Level
	at    time.Time   // when it was logged
	more  int         // how often it came since
	last  []slog.Attr // of the latest time
}

func newComplaints(log *slog.Logger) *complaints {
	return &complaints{log: log, said: map[complaintKey]*complaint{}}
}

// complain logs err under a constant message, as a warning.
func (c *complaints) complain(message string, err error) {
	c.tell(slog.LevelWarn, message, "", slog.Any("error", err))
}

// tell logs a constant message about a listener, or holds it back and counts it.
func (c *complaints) tell(level slog.Level, message, listener string, attrs ...slog.Attr) {
	if listener != "" {
		attrs = append(attrs, slog.String("listener", listener))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := complaintKey{message, listener}
	known, ok := c.said[key]
	if !ok {
		known = &complaint{}
		c.said[key] = known
	}
	known.level, known.last = level, attrs
	known.more++
	if time.Since(known.at) > complaintInterval {
		c.say(key, known)
	}
}

// say logs what was held back. The caller holds the lock.
func (c *complaints) say(key complaintKey, k *complaint) {
	attrs := k.last
	if k.more > 1 {
		attrs = append(attrs[:len(attrs):len(attrs)], slog.Int("times", k.more))
	}
	k.at, k.more, k.last = time.Now(), 0, nil
	c.log.LogAttrs(context.Background(), k.level, key.message, attrs...)
}

// flush logs what was held back for an interval, or all of it.
func (c *complaints) flush(all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, k := range c.said {
		if k.more > 0 && (all || time.Since(k.at) > complaintInterval) {
			c.say(key, k)
		}
	}
}
