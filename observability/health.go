package observability

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Check is one condition for a process to do its work.
type Check struct {
	// Name begins what is said of it; "" where Run says all.
	Name string
	// Run says what is wrong, or nil. It must end when its context does.
	Run func(context.Context) error
	// Every is how long a good result holds; 0 asks every time. A bad one is
	// looked at again every time, so that the process heals at once.
	Every time.Duration
}

// Health says whether a process can do its work. It is safe for concurrent use.
type Health struct {
	checks []Check
	mu     sync.Mutex
	goodAt []time.Time
}

// NewHealth returns the health of a process that has these checks.
func NewHealth(checks ...Check) *Health {
	return &Health{checks: checks, goodAt: make([]time.Time, len(checks))}
}

// Ready returns everything that keeps the process from its work, or nil. The
// checks run at once, each with all the time that ctx has.
func (h *Health) Ready(ctx context.Context) error {
	errs := make([]error, len(h.checks))
	var wg sync.WaitGroup
	for n, c := range h.checks {
		if h.holds(n) {
			continue
		}
		wg.Go(func() {
			if err := c.Run(ctx); err != nil {
				errs[n] = c.named(err)
				return
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			h.goodAt[n] = time.Now()
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (c Check) named(err error) error {
	if c.Name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", c.Name, err)
}

func (h *Health) holds(n int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Since(h.goodAt[n]) < h.checks[n].Every
}
