package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/tidings-go/tidings/sampleapp/app"
	"github.com/tidings-go/tidings/sampleapp/domain"
)

const (
	notify  = "example.delivery.NotifyCustomer"
	invoice = "example.delivery.InvoiceStop"
)

func (d *day) plan(ctx context.Context) error {
	d.next("Two tours are planned",
		"Each PlanTour stores tour, board row and the event TourPlanned in one commit. Nobody",
		"subscribes to TourPlanned, but it is declared Recorded(): it is stored, without a job.")
	if err := d.planTour(ctx, "Frances", "Ada", "Barbara", "Charles"); err != nil {
		return err
	}
	return d.planTour(ctx, "Niklaus", "Donald", "Edsger", "Grace")
}

func (d *day) open(ctx context.Context) error {
	d.next("Work is published while no worker runs",
		"The board is kept by a synchronous listener, in the publisher's transaction: it is right",
		"at once. What follows is stored as jobs, in the same commit: it cannot get lost.")
	if err := d.move(ctx, "Ada", "Analytical Avenue 1", "10245", "Berlin"); err != nil {
		return err
	}
	done, err := d.company.Complete.Execute(ctx, app.CompleteStop{Stop: d.stops["Edsger"]})
	if err != nil {
		return err
	}
	d.tell("CompleteStop: the parcel of Edsger is handed over, %s to pay", done.Price)
	rows, err := d.company.Board.Execute(ctx, app.ShowBoard{})
	if err != nil {
		return err
	}
	for _, r := range rows {
		d.tell("ShowBoard: %s has %d of %d stops completed, %d moved", r.Driver, r.Completed, r.Stops, r.Moves)
	}
	jobs, err := d.number(ctx, `SELECT count(*) FROM tidings.jobs WHERE state = 'BLOCKED'`)
	if err != nil {
		return err
	}
	d.tell("%d jobs wait: BLOCKED, since no live node has their listeners", jobs)
	return nil
}

func (d *day) deliver(ctx context.Context) error {
	d.next("A worker starts and delivers",
		"Each job runs in a transaction that commits the listener's effect with the job's",
		"acknowledgement: there is no moment with one of them alone.")
	if err := d.startWorker(ctx, "worker-1"); err != nil {
		return err
	}
	d.tell("worker-1 is up (process %d): the jobs resume by themselves", d.worker.cmd.Process.Pid)
	for _, of := range [][2]string{{"Ada", notify}, {"Edsger", invoice}} {
		j, err := d.settled(ctx, of[0], of[1])
		if err != nil {
			return err
		}
		d.tell("%s: %s is %s at attempt %d", of[0], of[1], j.State, j.Attempts)
	}
	d.tell("the invoice was written by the usecase CreateInvoice, which joined the delivery's transaction")
	return nil
}

func (d *day) failAndRetry(ctx context.Context) error {
	d.next("The mail server has a bad hour",
		"For Barbara it is down twice, for Charles always. A failed attempt rolls its effect back",
		"and waits; the other job does not wait for it. After four attempts a job is FAILED: it",
		"stays, with its errors, for somebody to look at.")
	d.mail.plan(mailOf("Barbara"), func(nth int) int {
		if nth <= 2 {
			return http.StatusServiceUnavailable
		}
		return http.StatusAccepted
	})
	d.mail.plan(mailOf("Charles"), func(int) int { return http.StatusInsufficientStorage })
	if err := d.move(ctx, "Barbara", "Liskov Lane 2", "10435", "Berlin"); err != nil {
		return err
	}
	if err := d.move(ctx, "Charles", "Babbage Road 3", "20095", "Hamburg"); err != nil {
		return err
	}
	for _, name := range []string{"Barbara", "Charles"} {
		j, err := d.settled(ctx, name, notify)
		if err != nil {
			return err
		}
		d.tell("%s: NotifyCustomer is %s at attempt %d", name, j.State, j.Attempts)
	}
	return nil
}

func (d *day) rollBack(ctx context.Context) error {
	d.next("A swap is refused, and leaves nothing behind",
		"SwapStops calls MoveStop twice; both join its transaction. The first move changes the",
		"stop, the board, stores its event and its job; the second one is refused. So all of it",
		"is undone: nobody is told of a move that did not happen.")
	before, err := d.number(ctx, storedSQL)
	if err != nil {
		return err
	}
	_, err = d.company.Swap.Execute(ctx, app.SwapStops{A: d.stops["Donald"], B: d.stops["Edsger"]})
	var rule *domain.Error
	if !errors.As(err, &rule) {
		return fmt.Errorf("the swap was not refused: %w", err)
	}
	d.tell("SwapStops: Donald and Edsger: %s", rule)
	after, err := d.number(ctx, storedSQL)
	if err != nil {
		return err
	}
	if after != before {
		return fmt.Errorf("the refused swap left %d rows", after-before)
	}
	d.tell("events, jobs, board and stops are what they were")
	return nil
}

func (d *day) kill(ctx context.Context) error {
	d.next("kill -9, in the middle of a listener",
		"NotifyCustomer has written its row and talks to the mail server when its process dies.",
		"PostgreSQL undoes the row with the transaction. The job's lease runs out, another worker",
		"takes it, and the mail server gets the same idempotency key again.")
	d.mail.plan(mailOf("Grace"), func(nth int) int {
		if nth == 1 {
			return hold
		}
		return http.StatusAccepted
	})
	if err := d.move(ctx, "Grace", "Hopper Square 4", "10999", "Berlin"); err != nil {
		return err
	}
	var key string
	select {
	case key = <-d.mail.held:
	case <-d.worker.done:
		return d.worker.ended()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	d.tell("worker-1 is in the middle of NotifyCustomer: the mail server keeps it waiting")
	d.tell("worker-1, process %d, is dead: %s", d.worker.cmd.Process.Pid, d.worker.kill())
	d.worker = nil
	seen, err := d.told(ctx, d.stops["Grace"])
	if err != nil {
		return err
	}
	d.tell("its row is gone with it: %d notifications for Grace", seen)
	return d.recover(ctx, key)
}

func (d *day) recover(ctx context.Context, key string) error {
	if err := d.startWorker(ctx, "worker-2"); err != nil {
		return err
	}
	d.tell("worker-2 is up (process %d)", d.worker.cmd.Process.Pid)
	j, err := d.settled(ctx, "Grace", notify)
	if err != nil {
		return err
	}
	seen, err := d.told(ctx, d.stops["Grace"])
	if err != nil {
		return err
	}
	d.tell("Grace: NotifyCustomer is %s by worker-2, with %d notification", j.State, seen)
	d.tell("the mail server was asked %d times under one key, so it sends one mail:\n%s", d.mail.requests(key), key)
	return nil
}

func (d *day) closeDay(ctx context.Context) error {
	d.next("The day is closed, and the office is not there",
		"ReportDay is a listener of the office's module, which no worker of the demo has. Its job",
		"is BLOCKED: visible, with the reason, no attempt used. It runs by itself once a node",
		"with the listener does.")
	date, err := domain.NewDay(today)
	if err != nil {
		return err
	}
	if err := d.company.Close.Execute(ctx, app.CloseDay{Day: date}); err != nil {
		return err
	}
	d.tell("CloseDay: %s is closed", date)
	var blocked []string
	if err := d.db.SelectContext(ctx, &blocked, blockedSQL); err != nil {
		return fmt.Errorf("read blocked jobs: %w", err)
	}
	for _, text := range blocked {
		d.tell("%s", text)
	}
	return nil
}
