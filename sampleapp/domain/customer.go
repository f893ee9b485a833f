package domain

import (
	"net/mail"
	"strings"
)

// Customer is who waits for the parcel.
type Customer struct{ name, email string }

// NewCustomer returns a customer with a name and a mail address.
func NewCustomer(name, email string) (Customer, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		return Customer{}, invalid("a customer needs a name")
	}
	address, err := mail.ParseAddress(email)
	if err != nil || address.Name != "" {
		return Customer{}, invalid("customer %s: %q is no mail address", name, email)
	}
	return Customer{name: name, email: address.Address}, nil
}

// Name returns the name.
func (c Customer) Name() string { return c.name }

// Email returns the mail address.
func (c Customer) Email() string { return c.email }
