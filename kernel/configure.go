package kernel

import (
	"errors"
	"os"
	"strings"

	"github.com/tidings-go/tidings/boot"
)

// configure works out the configuration. Everything wrong with it is reported
// together, each by the name of its variable.
func (k *kernel) configure() error {
	config, malformed := boot.FromEnvironment(k.settings.config, k.environment)
	if k.flags != nil {
		k.flags(&config)
	}
	config.Delivery.Logger, config.Delivery.Observer = k.logger, k.instruments
	k.config = config.WithDefaults()
	if err := errors.Join(malformed, k.config.Validate(k.database == nil), k.hasDatabase()); err != nil {
		return configurationError{err}
	}
	return nil
}

// configurationError is everything wrong with the configuration, a line each. It
// is shown without the way that it took through the container.
type configurationError struct{ err error }

func (e configurationError) Error() string {
	return "configuration:\n  " + strings.ReplaceAll(e.err.Error(), "\n", "\n  ")
}

func (e configurationError) Unwrap() error { return e.err }

// environment looks a variable up. A test kit's app runs as its code says: it
// does not depend on where it is tested.
func (k *kernel) environment(name string) (string, bool) {
	if k.external.Database != nil {
		return "", false
	}
	return os.LookupEnv(name)
}

func (k *kernel) hasDatabase() error {
	if k.database != nil || k.config.Dev || k.external.Database != nil || k.config.DatabaseURL != "" || k.inspect {
		return nil
	}
	return errors.New("no database: set DATABASE_URL, or ask for the embedded development PostgreSQL " +
		"with --dev or kernel.DevDatabase(), or hand the app's own pool to kernel.Database")
}

// openPool takes the app's pool, or opens one of the kernel's own that is
// connected at the start.
func (k *kernel) openPool() {
	if k.database != nil {
		k.pool = k.database
		return
	}
	k.late = boot.NewPool(k.config.PoolSize)
	k.pool = k.late.DB
}
