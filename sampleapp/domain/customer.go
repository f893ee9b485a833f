package domain

import "net/mail"

// Customer is who waits for the parcel.
type Customer struct{ name, email string }

// NewCustomer returns a customer with a name and a mail address.
func NewCustomer(name, email string) (Customer, error) {
	name, err := line("the name of a customer", name)
	if err != nil {
		return Customer{}, err
	}
	email, err = line("the mail address of "+name, email)
	if err != nil {
		return Customer{}, err
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
