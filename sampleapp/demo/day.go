package demo

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/tidings-go/tidings/persistence/pgserver"
	"github.com/tidings-go/tidings/sampleapp/app"
	"github.com/tidings-go/tidings/sampleapp/domain"
)

// today is the day that the demo plays.
const today = "2026-03-02"

// day is a day under way.
type day struct {
	*story
	db      *sqlx.DB
	url     string
	company *company
	mail    *mailServer
	worker  *worker
	news    int64 // the last told row of the history

	stops map[string]uuid.UUID // by customer
}

// play plays the day, and ends all it started, however the day ends.
func play(ctx context.Context, s *story, o options) (err error) {
	s.print("A day at a delivery company, on a PostgreSQL of its own.\n\n" +
		"   This process publishes, workers are child processes that deliver, and the mail\n" +
		"   server is the outside world, with a script of bad moments.\n\n")
	server, err := pgserver.Start(ctx, pgserver.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, within(ctx, server.Stop)) }()
	d := &day{story: s, url: server.URL(database), stops: map[string]uuid.UUID{}}
	if d.db, err = openDatabase(ctx, server); err != nil {
		return err
	}
	defer d.db.Close()
	if d.mail, err = newMailServer(); err != nil {
		return err
	}
	defer d.mail.close()
	if d.company, err = openCompany(ctx, d.db); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, within(ctx, d.company.app.Stop)) }()
	defer func() {
		if d.worker != nil {
			d.worker.stop()
		}
	}()
	s.tell("PostgreSQL %d is up in a temporary folder, with empty tables", server.Binaries().Major)
	return d.run(ctx, o)
}

// within cleans up: also after ctx has ended, but not for ever.
func within(ctx context.Context, stop func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	return stop(ctx)
}

// run plays the chapters and checks the books.
func (d *day) run(ctx context.Context, o options) error {
	chapters := []func(context.Context) error{
		d.plan, d.open, d.deliver, d.failAndRetry, d.rollBack, d.kill, d.closeDay,
	}
	for _, chapter := range chapters {
		if err := chapter(ctx); err != nil {
			return err
		}
	}
	if err := d.until(ctx, "every job is settled", `SELECT NOT EXISTS (`+unsettledSQL+`)`); err != nil {
		return err
	}
	d.next("The books", "Every number is counted in the tables, none is remembered by the program.")
	if o.tamper != "" {
		d.tell("tampering: %s", o.tamper)
		if _, err := d.db.ExecContext(ctx, o.tamper); err != nil {
			return fmt.Errorf("tamper: %w", err)
		}
	}
	books, err := readBooks(ctx, d.db)
	if err != nil {
		return err
	}
	return books.tell(d.story, o.json)
}

// startWorker starts a worker and waits until it has registered itself.
func (d *day) startWorker(ctx context.Context, name string) error {
	w, err := startWorker(name, d.url, d.mail.url)
	if err != nil {
		return err
	}
	d.worker = w
	return d.until(ctx, name+" is registered", `SELECT (`+liveSQL+`) > 0`, name)
}

// planTour plans a tour of customers, who all live in the same street.
func (d *day) planTour(ctx context.Context, driver string, names ...string) error {
	date, err := domain.NewDay(today)
	if err != nil {
		return err
	}
	in := app.PlanTour{Day: date, Driver: driver}
	for i, name := range names {
		customer, err := domain.NewCustomer(name, mailOf(name))
		if err != nil {
			return err
		}
		at, err := domain.NewAddress(fmt.Sprintf("Main Street %d", i+1), "10115", "Berlin")
		if err != nil {
			return err
		}
		in.Stops = append(in.Stops, app.PlannedStop{Customer: customer, At: at})
	}
	planned, err := d.company.Plan.Execute(ctx, in)
	if err != nil {
		return err
	}
	for i, name := range names {
		d.stops[name] = planned.Stops[i]
	}
	d.tell("PlanTour: %s drives to %d customers", driver, len(names))
	return nil
}

// move moves a customer's stop.
func (d *day) move(ctx context.Context, name, street, zip, city string) error {
	to, err := domain.NewAddress(street, zip, city)
	if err != nil {
		return err
	}
	moved, err := d.company.Move.Execute(ctx, app.MoveStop{Stop: d.stops[name], To: to})
	if err != nil {
		return err
	}
	d.tell("MoveStop: %s wants the parcel at %s, for %s", name, to, moved.Fee)
	return nil
}

func mailOf(name string) string { return name + "@example.com" }
