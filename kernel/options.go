package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/boot"
	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/events"
)

// Option configures the kernel. It is an fx option too: it may stand among the
// arguments of Options or Main, or anywhere in the app.
type Option struct {
	fx.Option
	set func(*settings) error
}

// settings is what the options of an app add up to.
type settings struct {
	database    *sqlx.DB
	config      boot.Config // what the code says; the environment may override it
	flags       func(*boot.Config)
	publishOnly bool
	admin       bool
	devSchema   []string
	logger      *slog.Logger
	kitLogger   *slog.Logger // where a test kit logs what the app does not send elsewhere
	registry    *prometheus.Registry
	tracing     trace.TracerProvider
	commands    []*cobra.Command
	bus         []events.BusOption
	external    External
	schemaSet   bool
	inspect     bool  // the app is looked at and never started: it needs no database
	migrations  fs.FS // nil: a folder on disk
}

type settingOut struct {
	fx.Out
	Setting func(*settings) error `group:"tidings.settings"`
}

type settingsIn struct {
	fx.In
	Settings []func(*settings) error `group:"tidings.settings"`
}

func option(set func(*settings) error) Option {
	return Option{Option: fx.Provide(func() settingOut { return settingOut{Setting: set} }), set: set}
}

// collect applies all settings. Their order in an fx group is random: none may
// depend on another.
func collect(in settingsIn) (*settings, error) {
	s, err := in.apply()
	if err != nil {
		return nil, fmt.Errorf("kernel options: %w", err)
	}
	return s, nil
}

func (in settingsIn) apply() (*settings, error) {
	s := &settings{}
	var errs []error
	for _, set := range in.Settings {
		errs = append(errs, set(s))
	}
	for _, byDefault := range []*slog.Logger{s.kitLogger, slog.Default()} {
		if s.logger == nil {
			s.logger = byDefault
		}
	}
	return s, errors.Join(errs...)
}

// Database gives the kernel the app's pool. It stays the app's: the kernel does
// not close it. Without this option the kernel opens a pool of its own on
// DATABASE_URL.
func Database(db *sqlx.DB) Option {
	return option(func(s *settings) error {
		if db == nil || s.database != nil {
			return errors.New("kernel.Database: want one pool, given once")
		}
		s.database = db
		return nil
	})
}

// DevDatabase has the app run on the embedded PostgreSQL of development, in a
// folder that keeps its data (TIDINGS_DEV_DIR, default .tidings/pgdata), with the
// schema created when it is new. It is never chosen silently; DATABASE_URL is
// not looked at.
func DevDatabase() Option {
	return option(func(s *settings) error {
		s.config.Dev = true
		return nil
	})
}

// DevSchema adds statements that create the app's own tables. They run once,
// when a development or test database is made, and never elsewhere.
func DevSchema(statements ...string) Option {
	return option(func(s *settings) error {
		s.devSchema = append(s.devSchema, statements...)
		return nil
	})
}

// Listen has the node listen at url for the notifications of other processes,
// with a connection of its own; boot.Off polls only. Default is the database URL
// of the kernel's own pool; with kernel.Database there is none, and without this
// option or TIDINGS_LISTEN_URL the node polls, which is sufficient but slower.
func Listen(url string) Option {
	return option(func(s *settings) error {
		s.config.ListenURL = url
		return nil
	})
}

// PgBouncer has the kernel work behind a pooler in transaction mode: it prepares
// no statements and does not listen unless Listen names the server itself.
func PgBouncer() Option {
	return option(func(s *settings) error {
		s.config.PgBouncer = true
		return nil
	})
}

// PublishOnly has the process emit events and run synchronous listeners, but
// deliver nothing: other nodes run the deferred listeners.
func PublishOnly() Option {
	return option(func(s *settings) error {
		s.publishOnly = true
		return nil
	})
}

// Schema puts the framework's tables into another schema than "tidings": two
// apps then share one database.
func Schema(name string) Option {
	return option(func(s *settings) error {
		if name == "" || s.schemaSet && s.config.Delivery.Schema != name {
			return errors.New("kernel.Schema: want one name, given once")
		}
		s.config.Delivery.Schema, s.schemaSet = name, true
		return nil
	})
}

// Delivery changes how this node delivers; set the fields that shall differ from
// their defaults. Environment variables override it.
func Delivery(change func(*delivery.Config)) Option {
	return option(func(s *settings) error {
		if change == nil {
			return errors.New("kernel.Delivery: want a function")
		}
		change(&s.config.Delivery)
		return nil
	})
}

// Logger sets where the kernel logs; default slog.Default().
func Logger(log *slog.Logger) Option {
	return option(func(s *settings) error {
		if log == nil {
			return errors.New("kernel.Logger: want a logger")
		}
		s.logger = log
		return nil
	})
}

// Registry has the kernel register its metrics with the app's own registry, which
// /metrics then serves. Default is the *prometheus.Registry that the container
// provides, else one of the kernel's own with Go's and the process's metrics.
func Registry(r *prometheus.Registry) Option {
	return option(func(s *settings) error {
		if r == nil {
			return errors.New("kernel.Registry: want a registry")
		}
		s.registry = r
		return nil
	})
}

// Tracing sends the kernel's OpenTelemetry spans to provider: one for every
// usecase, service, emit and run of a listener; a deferred listener's span links
// to the emit, also across processes. Default is the trace.TracerProvider that
// the container provides, else OpenTelemetry's global one.
func Tracing(provider trace.TracerProvider) Option {
	return option(func(s *settings) error {
		if provider == nil {
			return errors.New("kernel.Tracing: want a tracer provider")
		}
		s.tracing = provider
		return nil
	})
}

// AdminAddr is Admin at an address that code chooses; TIDINGS_ADMIN_ADDR still
// overrides it. Port 0 takes a free one, which the log names.
func AdminAddr(addr string) Option {
	return option(func(s *settings) error {
		s.admin, s.config.AdminAddr = true, addr
		return nil
	})
}

// Admin has the kernel serve /healthz, /readyz and /metrics at
// TIDINGS_ADMIN_ADDR (default 127.0.0.1:9464), as Main's serve does by itself.
func Admin() Option {
	return option(func(s *settings) error {
		s.admin = true
		return nil
	})
}

// Command adds a command to the program that Main runs. It stands among the
// arguments of Main or of a Module; inside fx.Options it is not found.
func Command(c *cobra.Command) Option {
	return option(func(s *settings) error {
		if c == nil {
			return errors.New("kernel.Command: want a command")
		}
		s.commands = append(s.commands, c)
		return nil
	})
}

// Options returns the kernel for an existing fx app. It starts after nothing and
// stops before nothing of the app's: its delivery starts after all OnStart hooks
// of the app and stops before all their OnStop hooks. It may stand anywhere among
// the options of fx.New, but not inside an fx.Module, which would hide the app's
// hooks from it.
func Options(opts ...Option) fx.Option {
	all := []fx.Option{core()}
	for _, o := range opts {
		if o.Option != nil {
			all = append(all, o)
		}
	}
	return fx.Options(all...)
}
