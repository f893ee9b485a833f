package delivery

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// complaintInterval is how often one complaint is logged at most: a database
// that is down must not flood the log.
const complaintInterval = 10 * time.Second

// complaints logs what the kernel's own work stumbles over, each kind at most
// once per interval. It is safe for concurrent use.
type complaints struct {
	log  *slog.Logger
	mu   sync.Mutex
	last map[string]time.Time
}

func newComplaints(log *slog.Logger) *complaints {
	return &complaints{log: log, last: map[string]time.Time{}}
}

// complain logs err under a constant message.
func (c *complaints) complain(message string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.last[message]) > complaintInterval {
		c.last[message] = now
		c.log.WarnContext(context.Background(), message, slog.Any("error", err))
	}
}
