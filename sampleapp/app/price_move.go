package app

import (
	"context"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/sampleapp/domain"
)

// PriceMove asks what it costs to move a stop. It is a service: it changes
// nothing and needs no transaction, so it can also answer before a move.
type PriceMove struct{ From, To domain.Address }

func priceMove(_ context.Context, self access.Self[PriceMove, struct{}]) (domain.Money, error) {
	return domain.MoveFee(self.Input.From, self.Input.To)
}
