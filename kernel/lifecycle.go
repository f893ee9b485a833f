package kernel

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tidings-go/tidings/boot"
	"github.com/tidings-go/tidings/persistence/schema"
)

// ErrSchema is what a start fails with whose database does not have the tables
// that the app's declarations need. The kernel never changes a database by
// itself.
var ErrSchema = errors.New("the database does not have the schema that the app needs")

// External hands the kernel a database that is made when the app starts. It is
// for test kits.
type External struct {
	// Database returns the URL of a database that has the model's tables and
	// then the app's own, made by these statements.
	Database func(ctx context.Context, model schema.Model, own []string) (url string, err error)
}

// start opens the way to the database. What it opened is closed again if it
// fails: fx calls no OnStop of a hook whose OnStart failed.
func (k *kernel) start(ctx context.Context) error {
	err := k.open(ctx)
	if err != nil {
		return errors.Join(err, k.stop(ctx))
	}
	return nil
}

func (k *kernel) open(ctx context.Context) error {
	if err := k.connectPool(ctx); err != nil {
		return err
	}
	if _, err := k.reach(ctx); err != nil {
		return err
	}
	m := model(k.bus, k.config.Delivery.Schema)
	if k.dev != nil {
		if err := boot.CreateSchema(ctx, k.pool.DB, k.config.Delivery.Schema, m, k.devSchema); err != nil {
			return err
		}
	}
	if err := k.compare(ctx, m); err != nil {
		return err
	}
	if err := k.bus.Open(ctx); err != nil {
		return err
	}
	k.notify.Start()
	if k.admin != nil {
		return k.admin.Start(ctx)
	}
	return nil
}

// connectPool names the database of the kernel's own pool, and where to listen.
func (k *kernel) connectPool(ctx context.Context) (err error) {
	listen := k.config.ListenURL
	if k.late != nil {
		url, err := k.databaseURL(ctx)
		if err != nil {
			return err
		}
		if err := k.late.Connect(url); err != nil {
			return err
		}
		if listen == "" {
			listen = url
		}
	}
	if k.engine == nil || listen == "" || listen == boot.Off {
		return nil
	}
	if listen, err = boot.WithSettings(listen); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	k.engine.ListenOn(listen, k.notify)
	return nil
}

// databaseURL returns the URL of the database, after making it where it is one
// for tests or development.
func (k *kernel) databaseURL(ctx context.Context) (string, error) {
	switch {
	case k.external.Database != nil:
		return k.external.Database(ctx, model(k.bus, k.config.Delivery.Schema), k.devSchema)
	case k.config.Dev:
		server, url, err := boot.StartDev(ctx, k.config.DevDir)
		k.dev = server
		return url, err
	default:
		return k.config.DatabaseURL, nil
	}
}

func (k *kernel) compare(ctx context.Context, m schema.Model) error {
	// In a transaction: a pooler may hand out another session in between.
	tx, err := k.pool.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("compare schema: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	differences, err := schema.Differences(ctx, tx, m)
	if err != nil {
		return err
	}
	if len(differences) == 0 {
		return nil
	}
	hint := "`schema plan` writes what is missing as a migration, `schema apply` runs it; `schema show` prints the statements that make all"
	if k.dev != nil {
		hint = "the development database is from before a change: remove " + k.config.DevDir
	}
	return fmt.Errorf("%w (%s):\n  %s", ErrSchema, hint, strings.Join(differences, "\n  "))
}

// stop closes what open opened.
func (k *kernel) stop(ctx context.Context) error {
	var errs []error
	if k.admin != nil {
		errs = append(errs, k.admin.Stop(ctx))
	}
	k.notify.Stop()
	k.bus.Close()
	k.closeStatements()
	k.discard()
	if k.dev != nil {
		errs = append(errs, k.dev.Stop(ctx))
		k.dev = nil
	}
	return errors.Join(errs...)
}

// closeTimeout is how long a stop waits for prepared statements to be closed.
const closeTimeout = 2 * time.Second

// closeStatements closes what was prepared. database/sql waits for every
// connection to do so, and a driver may wait for a silent server for as long as
// the network pretends to be well (lib/pq does): the stop does not.
func (k *kernel) closeStatements() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		k.db.CloseStatements()
	}()
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	}
}

func (k *kernel) startDelivery(ctx context.Context) error {
	if k.engine == nil {
		return nil
	}
	return k.engine.Start(ctx)
}

func (k *kernel) stopDelivery(ctx context.Context) error {
	if k.engine == nil {
		return nil
	}
	return k.engine.Stop(ctx)
}
