package domain

import "github.com/google/uuid"

// MaxStops is how many stops fit in a van.
const MaxStops = 40

// Tour is a day's round of one driver.
type Tour struct {
	id     uuid.UUID
	day    Day
	driver string
	stops  []*Stop
}

// NewTour plans a tour without stops; Add adds them.
func NewTour(day Day, driver string) (*Tour, error) {
	if day.IsZero() {
		return nil, ErrNoDay
	}
	driver, err := line("the driver of a tour", driver)
	if err != nil {
		return nil, err
	}
	return &Tour{id: uuid.New(), day: day, driver: driver}, nil
}

// Add adds a stop at the end of the tour.
func (t *Tour) Add(customer Customer, at Address) (*Stop, error) {
	switch {
	case len(t.stops) == MaxStops:
		return nil, invalid("a tour has at most %d stops", MaxStops)
	case customer == Customer{}:
		return nil, invalid("a stop needs a customer")
	case at.IsZero():
		return nil, invalid("a stop needs an address")
	}
	s := &Stop{id: uuid.New(), tour: t.id, customer: customer, address: at}
	t.stops = append(t.stops, s)
	return s, nil
}

// ID returns the identity of the tour.
func (t *Tour) ID() uuid.UUID { return t.id }

// Day returns the day of the tour.
func (t *Tour) Day() Day { return t.day }

// Driver returns who drives.
func (t *Tour) Driver() string { return t.driver }

// Stops returns the stops in the order of the round.
func (t *Tour) Stops() []*Stop { return t.stops }

// CheckPlanned says what is missing before a van can leave.
func (t *Tour) CheckPlanned() error {
	if len(t.stops) == 0 {
		return invalid("a tour needs a stop")
	}
	return nil
}
