package ports

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/sampleapp/app"
	"github.com/tidings-go/tidings/sampleapp/domain"
)

// The bodies of requests and answers: the API's words, which stay while the
// domain's change.
type (
	tour struct {
		Day    string `json:"day"`
		Driver string `json:"driver"`
		Stops  []stop `json:"stops"`
	}

	stop struct {
		Name    string  `json:"name"`
		Email   string  `json:"email"`
		Address address `json:"address"`
	}

	address struct {
		Street string `json:"street"`
		Zip    string `json:"zip"`
		City   string `json:"city"`
	}

	move struct {
		address
		Note string `json:"note"`
	}

	swap struct {
		With uuid.UUID `json:"with"`
	}

	fee struct {
		Cents int64 `json:"fee_cents"`
	}

	price struct {
		Cents int64 `json:"price_cents"`
	}

	problem struct {
		Error string `json:"error"`
	}
)

func (a address) domain() (domain.Address, error) { return domain.NewAddress(a.Street, a.Zip, a.City) }

// input makes the usecase's input through the domain's constructors.
func (t tour) input() (app.PlanTour, error) {
	day, err := domain.NewDay(t.Day)
	if err != nil {
		return app.PlanTour{}, err
	}
	in := app.PlanTour{Day: day, Driver: t.Driver}
	for i, s := range t.Stops {
		customer, err := domain.NewCustomer(s.Name, s.Email)
		if err != nil {
			return app.PlanTour{}, domain.In(fmt.Sprintf("stop %d", i+1), err)
		}
		at, err := s.Address.domain()
		if err != nil {
			return app.PlanTour{}, domain.In(fmt.Sprintf("stop %d", i+1), err)
		}
		in.Stops = append(in.Stops, app.PlannedStop{Customer: customer, At: at})
	}
	return in, nil
}
