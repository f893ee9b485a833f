package boot

import (
	"errors"
	"fmt"
	"net"
	"strconv"
)

// Validate returns everything wrong with c after WithDefaults, each by the name
// of its variable, or nil. ownPool says that the kernel opens the pool.
func (c Config) Validate(ownPool bool) error {
	errs := []error{c.Delivery.Validate()}
	if ownPool && !c.Dev && c.DatabaseURL != "" {
		if _, err := WithSettings(c.DatabaseURL); err != nil {
			errs = append(errs, fmt.Errorf("DATABASE_URL: %w", err))
		}
	}
	if c.ListenURL != "" && c.ListenURL != Off {
		if _, err := WithSettings(c.ListenURL); err != nil {
			errs = append(errs, fmt.Errorf("TIDINGS_LISTEN_URL: %w, or %s", err, Off))
		}
	}
	if c.AdminAddr != Off && !isAddress(c.AdminAddr) {
		errs = append(errs, fmt.Errorf("TIDINGS_ADMIN_ADDR=%q: want host:port, or %s", c.AdminAddr, Off))
	}
	if need := c.Delivery.Connections(); ownPool && c.PoolSize < need {
		errs = append(errs, fmt.Errorf("TIDINGS_POOL_SIZE=%d: %d workers (TIDINGS_WORKERS) need %d connections", c.PoolSize, c.Delivery.Workers, need))
	}
	return errors.Join(errs...)
}

func isAddress(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	n, err := strconv.Atoi(port)
	return err == nil && n >= 0 && n <= 65535
}
