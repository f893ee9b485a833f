package domain

import "regexp"

// Address is where a stop is.
type Address struct{ street, zip, city string }

var zipFormat = regexp.MustCompile(`^[0-9]{5}$`)

// NewAddress returns an address, or says what is missing in it.
func NewAddress(street, zip, city string) (Address, error) {
	street, err := line("the street of an address", street)
	if err != nil {
		return Address{}, err
	}
	if !zipFormat.MatchString(zip) {
		return Address{}, invalid("an address needs a zip of five digits, not %.20q", zip)
	}
	city, err = line("the city of an address", city)
	if err != nil {
		return Address{}, err
	}
	return Address{street: street, zip: zip, city: city}, nil
}

// Street returns the street with its number.
func (a Address) Street() string { return a.street }

// Zip returns the five digits.
func (a Address) Zip() string { return a.zip }

// City returns the city.
func (a Address) City() string { return a.city }

// IsZero says whether the address was never made.
func (a Address) IsZero() bool { return a == Address{} }

// String returns the address in one line.
func (a Address) String() string { return a.street + ", " + a.zip + " " + a.city }
