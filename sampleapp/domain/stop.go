package domain

import "github.com/google/uuid"

// BaseFee is what the delivery of a parcel costs in cents before any move.
const BaseFee = 490

// Stop is one parcel's place on a tour.
type Stop struct {
	id, tour  uuid.UUID
	customer  Customer
	address   Address
	moves     int
	fees      Money // of all moves
	completed bool
}

// StoredStop is a stop as a repository keeps it.
type StoredStop struct {
	ID, Tour          uuid.UUID
	Name, Email       string
	Street, Zip, City string
	Moves             int
	Fees              int64
	Completed         bool
}

// RestoreStop makes a stop of what a repository kept. It goes through the same
// constructors as a new one: what breaks today's rules does not come back.
func RestoreStop(s StoredStop) (*Stop, error) {
	customer, err := NewCustomer(s.Name, s.Email)
	if err != nil {
		return nil, err
	}
	address, err := NewAddress(s.Street, s.Zip, s.City)
	if err != nil {
		return nil, err
	}
	fees, err := NewMoney(s.Fees)
	if err != nil {
		return nil, err
	}
	return &Stop{
		id: s.ID, tour: s.Tour, customer: customer, address: address,
		moves: s.Moves, fees: fees, completed: s.Completed,
	}, nil
}

// Stored returns what a repository keeps of the stop.
func (s *Stop) Stored() StoredStop {
	return StoredStop{
		ID: s.id, Tour: s.tour, Name: s.customer.name, Email: s.customer.email,
		Street: s.address.street, Zip: s.address.zip, City: s.address.city,
		Moves: s.moves, Fees: s.fees.cents, Completed: s.completed,
	}
}

// Move takes the stop to another address, for a fee.
func (s *Stop) Move(to Address, fee Money) error {
	switch {
	case to.IsZero():
		return ErrNoAddress
	case s.completed:
		return conflict("the parcel of %s is delivered already", s.customer.name)
	case to == s.address:
		return conflict("the stop of %s is at %s already", s.customer.name, to)
	}
	s.address, s.fees, s.moves = to, s.fees.Plus(fee), s.moves+1
	return nil
}

// Complete notes that the parcel was handed over.
func (s *Stop) Complete() error {
	if s.completed {
		return conflict("the parcel of %s is delivered already", s.customer.name)
	}
	s.completed = true
	return nil
}

// Price returns what the delivery costs, moves included.
func (s *Stop) Price() Money { return Money{cents: BaseFee}.Plus(s.fees) }

// ID returns the identity of the stop.
func (s *Stop) ID() uuid.UUID { return s.id }

// Tour returns the identity of its tour.
func (s *Stop) Tour() uuid.UUID { return s.tour }

// Customer returns who waits there.
func (s *Stop) Customer() Customer { return s.customer }

// Address returns where it is.
func (s *Stop) Address() Address { return s.address }

// IsCompleted says whether the parcel was handed over.
func (s *Stop) IsCompleted() bool { return s.completed }
