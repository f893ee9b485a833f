package kernel

import (
	"log/slog"
	"net"

	"github.com/jmoiron/sqlx"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/events"
)

// Parts is what a test kit reaches of an assembled kernel.
type Parts struct {
	// Pool is the pool that the kernel uses.
	Pool *sqlx.DB
	// Schema is the schema of the framework's tables.
	Schema string
	// AdminAddr returns where the started app serves its admin endpoint, or nil.
	AdminAddr func() net.Addr
	// Delivers are the identities of the listeners that this process delivers.
	Delivers []string
}

// Assemble returns the kernel as an fx option for test kits: on an external
// database, with options of the bus, and with parts filled once fx.New returns.
func Assemble(external External, parts *Parts, bus []events.BusOption, opts ...fx.Option) fx.Option {
	setting := option(func(s *settings) error {
		s.external, s.bus = external, append(s.bus, bus...)
		return nil
	})
	return fx.Options(core(), Distinct(opts...), setting, quiet(), fx.Invoke(func(k *kernel) {
		*parts = Parts{Pool: k.pool, Schema: k.config.Delivery.Schema, AdminAddr: k.adminAddr}
		for _, s := range k.bus.Deferred() {
			if k.engine != nil {
				parts.Delivers = append(parts.Delivers, s.Listener.Declaration().Identity)
			}
		}
	}))
}

func (k *kernel) adminAddr() net.Addr {
	if k.admin == nil {
		return nil
	}
	return k.admin.Addr()
}

// LoggerByDefault is Logger for test kits: an app's own wins.
func LoggerByDefault(log *slog.Logger) Option {
	return option(func(s *settings) error {
		s.kitLogger = log
		return nil
	})
}
