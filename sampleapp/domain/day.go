package domain

import "time"

// Day is a day of the calendar.
type Day struct{ date string }

// NewDay returns the day written as 2006-01-02.
func NewDay(text string) (Day, error) {
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		return Day{}, invalid("%.20q is no day: write it as %s", text, time.DateOnly)
	}
	return Day{date: text}, nil
}

// String returns the day as 2006-01-02.
func (d Day) String() string { return d.date }

// IsZero says whether the day was never made.
func (d Day) IsZero() bool { return d == Day{} }

// AlreadyClosed is the Error for closing a day again.
func AlreadyClosed(d Day) error { return conflict("%s is closed already", d) }
