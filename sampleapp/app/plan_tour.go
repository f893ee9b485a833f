package app

import (
	"context"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/sampleapp/domain"
)

// PlanTour plans a tour with its stops.
type PlanTour struct {
	Day    domain.Day
	Driver string
	Stops  []PlannedStop
}

// PlannedStop is a stop of a tour to be planned.
type PlannedStop struct {
	Customer domain.Customer
	At       domain.Address
}

// Planned is a planned tour.
type Planned struct {
	Tour  uuid.UUID   `json:"tour"`
	Stops []uuid.UUID `json:"stops"`
}

func (p PlanTour) check() error {
	_, err := p.tour()
	return err
}

// tour makes the domain's tour, whose constructors hold the rules.
func (p PlanTour) tour() (*domain.Tour, error) {
	tour, err := domain.NewTour(p.Day, p.Driver)
	if err != nil {
		return nil, err
	}
	for _, s := range p.Stops {
		if _, err := tour.Add(s.Customer, s.At); err != nil {
			return nil, err
		}
	}
	return tour, tour.CheckPlanned()
}

type planDeps struct {
	Tours   Tours
	Planned events.Emitter[TourPlanned]
}

func planTour(ctx context.Context, self access.Self[PlanTour, planDeps]) (Planned, error) {
	tour, err := self.Input.tour()
	if err != nil {
		return Planned{}, err
	}
	if err := self.Deps.Tours.Add(ctx, self.Tx, tour); err != nil {
		return Planned{}, err
	}
	planned := Planned{Tour: tour.ID()}
	for _, s := range tour.Stops() {
		planned.Stops = append(planned.Stops, s.ID())
	}
	return planned, self.Deps.Planned.Emit(ctx, TourPlanned{
		Tour: tour.ID(), Day: tour.Day().String(), Driver: tour.Driver(), Stops: len(tour.Stops()),
	})
}
