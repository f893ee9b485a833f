// Incident is a small shop whose mails go through a remote server: the app of the
// incident in docs/operations.md, which the test of this folder plays.
//
//	REMOTE_URL=http://… incident serve
//	incident place 200
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/spf13/cobra"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/usecase"
)

type (
	none       = struct{}
	PlaceOrder struct{ Number int }
	// OrderPlaced is the event that mails and invoices follow from.
	OrderPlaced struct{ Number int }
	placeDeps   struct{ Placed events.Emitter[OrderPlaced] }
)

func placeOrder(ctx context.Context, self access.Self[PlaceOrder, placeDeps]) error {
	return self.Deps.Placed.Emit(ctx, OrderPlaced(self.Input))
}

// sendMail hands the idempotency key on: a delivery may be repeated.
func sendMail(ctx context.Context, self events.Self[OrderPlaced, none]) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("REMOTE_URL"), http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("Idempotency-Key", self.Meta.IdempotencyKey)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("mail server: %s", answer.Status)
	}
	return nil
}

func writeInvoice(context.Context, events.Self[OrderPlaced, none]) error { return nil }

// shop has waits that are a hundredth of the default ones, so that an hour passes
// in a minute. It carries on for as many attempts as an outage of a night needs.
func shop() fx.Option {
	return kernel.Module("shop",
		events.Declare[OrderPlaced]("shop.OrderPlaced"),
		usecase.DeclareAction("shop.PlaceOrder", placeOrder),
		events.Deferred("shop.SendMail", sendMail, events.MaxAttempts(100), events.Backoff(10*time.Millisecond, 6*time.Second)),
		events.Deferred("shop.WriteInvoice", writeInvoice),
	)
}

// place places orders without delivering anything, as a web server would.
func place() kernel.Option {
	return kernel.Command(&cobra.Command{
		Use: "place N", Short: "Place N orders", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[0])
			if err != nil {
				return err
			}
			db, err := sqlx.Open("postgres", os.Getenv("DATABASE_URL"))
			if err != nil {
				return err
			}
			defer db.Close()
			var action usecase.Action[PlaceOrder]
			app := fx.New(fx.NopLogger, kernel.Options(kernel.Database(db), kernel.PublishOnly()), shop(), fx.Populate(&action))
			if err := app.Start(c.Context()); err != nil {
				return err
			}
			for i := range n {
				if err := action.Execute(c.Context(), PlaceOrder{i}); err != nil {
					return err
				}
			}
			return app.Stop(context.WithoutCancel(c.Context()))
		},
	})
}

func main() { kernel.Main(shop(), place()) }
