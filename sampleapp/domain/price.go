package domain

// Fees of a move in cents: within the region of the first two digits of the zip,
// within the zone of the first digit, or further.
const (
	regionFee = 0
	zoneFee   = 150
	farFee    = 600
)

// MoveFee returns what it costs to move a stop.
func MoveFee(from, to Address) (Money, error) {
	switch {
	case from.IsZero() || to.IsZero():
		return Money{}, invalid("a move has a price between two addresses")
	case from.zip[:2] == to.zip[:2]:
		return Money{cents: regionFee}, nil
	case from.zip[:1] == to.zip[:1]:
		return Money{cents: zoneFee}, nil
	}
	return Money{cents: farFee}, nil
}
