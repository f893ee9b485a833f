package kernel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/spf13/cobra"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/observability/doctor"
	"github.com/tidings-go/tidings/persistence"
)

// errFindings is the error of a command that ran and found problems.
var errFindings = errors.New("problems found")

func doctorCommand(opts []fx.Option) *cobra.Command {
	var dev, asJSON bool
	c := &cobra.Command{
		Use: "doctor", Short: "Examine the database and say what to do", Args: noArguments,
		Long: fmt.Sprintf("Examine version, settings, privileges, schema, connections, clock, long-held snapshots, indexes, bloat,\n"+
			"autovacuum, nodes and jobs. It only reads. Exit code %d: there are problems.", ExitFindings),
		RunE: func(c *cobra.Command, _ []string) error {
			app, err := describe(dev, opts)
			if err != nil {
				return err
			}
			defer app.discard()
			return app.connected(c.Context(), func(db *sqlx.DB) error {
				if _, err := app.reach(c.Context()); err != nil {
					return err
				}
				findings := doctor.Examine(c.Context(), app.patient(c, db))
				if asJSON {
					err = printPlain(c.OutOrStdout(), map[string]any{"findings": findings, "problems": doctor.Problems(findings)})
				} else {
					printFindings(c.OutOrStdout(), findings)
				}
				if n := doctor.Problems(findings); err == nil && n > 0 {
					err = fmt.Errorf("doctor: %d %w", n, errFindings)
				}
				return err
			})
		},
	}
	devFlag(c, &dev, "examine the embedded development PostgreSQL")
	jsonFlag(c, &asJSON)
	return c
}

func (d *described) patient(c *cobra.Command, db *sqlx.DB) doctor.Patient {
	p := doctor.Patient{
		Development: d.dev && d.late != nil,
		DB:          db, Framework: d.framework(), Config: d.config.Delivery, PoolSize: d.config.PoolSize,
		Differences: func(ctx context.Context) ([]string, error) { return differences(ctx, db, d.model()) },
		Backlog:     delivery.NewBacklogReader(persistence.New(db, persistence.WithoutPreparedStatements()), d.framework()).Read,
		Around: func(check string, run func()) {
			_ = progress(c.ErrOrStderr(), "examining "+check, func() error { run(); return nil })
		},
	}
	if d.late == nil {
		p.PoolSize = db.Stats().MaxOpenConnections // 0: not bounded
	}
	for _, t := range d.model().Tables {
		p.Tables = append(p.Tables, [2]string{t.Schema, t.Name})
	}
	return p
}

var marks = map[doctor.Status]string{doctor.OK: "ok", doctor.Note: "NOTE", doctor.Problem: "PROBLEM"}

func printFindings(w io.Writer, findings []doctor.Finding) {
	for _, f := range findings {
		fmt.Fprintf(w, "%-8s %-12s %s\n", marks[f.Status], f.Check, f.Says)
		if f.Do != "" {
			fmt.Fprintf(w, "%-8s %-12s do: %s\n", "", "", f.Do)
		}
	}
}

// When a command first says that it is still at work, and how often again.
const (
	progressAfter = 2 * time.Second
	progressEvery = 10 * time.Second
)

// progress runs f and says what is done when it takes long.
func progress(w io.Writer, what string, f func() error) error {
	done, told := make(chan struct{}), make(chan struct{})
	began := time.Now()
	go func() {
		defer close(told)
		for wait := progressAfter; ; wait = progressEvery {
			timer := time.NewTimer(wait)
			select {
			case <-done:
				timer.Stop()
				return
			case <-timer.C:
				fmt.Fprintf(w, "%s … %v\n", what, time.Since(began).Round(time.Second))
			}
		}
	}()
	err := f()
	close(done)
	<-told
	return err
}
