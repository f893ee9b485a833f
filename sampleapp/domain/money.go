package domain

import "fmt"

// Money is an amount in cents.
type Money struct{ cents int64 }

// NewMoney returns an amount that is not negative.
func NewMoney(cents int64) (Money, error) {
	if cents < 0 {
		return Money{}, invalid("an amount cannot be %d cents", cents)
	}
	return Money{cents: cents}, nil
}

// Cents returns the amount in cents.
func (m Money) Cents() int64 { return m.cents }

// Plus returns the sum.
func (m Money) Plus(other Money) Money { return Money{cents: m.cents + other.cents} }

// String returns the amount as people write it.
func (m Money) String() string { return fmt.Sprintf("%d.%02d", m.cents/100, m.cents%100) }
