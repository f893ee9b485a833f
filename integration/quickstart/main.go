// Command quickstart is the app of the README.
package main

import (
	"context"
	"fmt"

	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/usecase"
)

type (
	PlaceOrder  struct{ Customer, Item string }
	OrderPlaced struct{ Customer, Item string }
	placeDeps   struct{ Placed events.Emitter[OrderPlaced] }
)

func placeOrder(ctx context.Context, self access.Self[PlaceOrder, placeDeps]) error {
	if err := self.Tx.ExecOne(ctx, `INSERT INTO orders VALUES ($1, $2)`, self.Input.Customer, self.Input.Item); err != nil {
		return err
	}
	return self.Deps.Placed.Emit(ctx, OrderPlaced(self.Input)) // stored, or rolled back, with the order
}

func sendInvoice(ctx context.Context, self events.Self[OrderPlaced, struct{}]) error {
	fmt.Println("invoice for", self.Event.Customer, "attempt", self.Meta.Attempt, "key", self.Meta.IdempotencyKey)
	return self.Tx.ExecOne(ctx, `INSERT INTO invoices VALUES ($1)`, self.Event.Customer) // commits with the acknowledgement
}

func main() {
	kernel.Main(kernel.DevSchema(`CREATE TABLE orders (customer text, item text)`, `CREATE TABLE invoices (customer text)`),
		kernel.Module("shop",
			events.Declare[OrderPlaced]("shop.orders.OrderPlaced"),
			usecase.DeclareAction("shop.orders.PlaceOrder", placeOrder),
			events.Deferred("shop.billing.SendInvoice", sendInvoice, events.MaxAttempts(5)),
			fx.Invoke(func(lc fx.Lifecycle, place usecase.Action[PlaceOrder]) { // an HTTP handler would do the same
				lc.Append(fx.StartHook(func(ctx context.Context) error { return place.Execute(ctx, PlaceOrder{"Ada", "tea"}) }))
			})))
}
