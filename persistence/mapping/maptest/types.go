package maptest

import (
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tidings-go/tidings/persistence/mapping"
)

// Types of an app, as they occur in events.
type (
	Text    string
	Count   uint16
	StopID  [16]byte
	octet   byte
	OddID   [16]octet
	Day     time.Time
	Blob    []byte
	Odd     []octet
	Ratio   float32
	Tags    map[string]struct{}
	Names   []Text
	Address struct{ Street, City string }
	base    struct{ Number int32 }
	Base    struct{ Label Text }
	Nothing struct{}
	AllNil  struct{ A, B *int }
	DeepNil struct{ Inner *AllNil }
	Square  struct{ File, Rank int8 }
)

// Set is a set of the app's own.
type Set[T comparable] map[T]struct{}

// Color is an enum over an integer, Mode one over a string, Bits one over bytes.
type (
	Color int8
	Mode  string
	Bits  uint8
)

// The constants are not in the order of their codes.
const (
	Green Color = iota - 1
	Red
	Blue
)

// Money is a value object with unexported fields, stored as a struct.
type Money struct {
	amount   decimal.Decimal
	currency string
}

type moneyRow struct {
	Amount   decimal.Decimal
	Currency string
}

// NewMoney is its constructor.
func NewMoney(amount decimal.Decimal, currency string) (Money, error) {
	if len(currency) != 3 {
		return Money{}, fmt.Errorf("currency %q has no three letters", currency)
	}
	return Money{amount, currency}, nil
}

func (m Money) row() moneyRow { return moneyRow{m.amount, m.currency} }

// SKU is a value object that can be a key, stored as a text.
type SKU struct {
	line   string
	number int
}

// ErrSKU is what the constructor of SKU says.
var ErrSKU = errors.New("an SKU is a line, a hyphen and a number")

func parseSKU(text string) (SKU, error) {
	at := strings.LastIndexByte(text, '-')
	number, err := strconv.Atoi(text[at+1:])
	if at < 0 || err != nil {
		return SKU{}, ErrSKU
	}
	return SKU{text[:at], number}, nil
}

func (s SKU) text() string { return s.line + "-" + strconv.Itoa(s.number) }

// Route is a value object that hides collections and other value objects.
type Route struct {
	stops []SKU
	fees  map[SKU]*Money
	maybe *Color
}

type routeRow struct {
	Stops []SKU
	Fees  map[SKU]*Money
	Maybe *Color
}

func (r Route) row() routeRow { return routeRow{r.stops, r.fees, r.maybe} }

// Shape is an interface that a codec makes storable.
type Shape interface{ area() float64 }

type circle struct{ radius float64 }

func (c circle) area() float64 { return c.radius * c.radius * 3 }

type shapeRow struct{ Radius sql.Null[float64] }

// Registry has the codecs and enums of these types.
func Registry() *mapping.Registry {
	r, err := mapping.NewRegistry(
		mapping.Enum(map[Color]string{Green: "green", Red: "it's red", Blue: `back\slash`}),
		mapping.Enum(map[Mode]string{"": "", "fast": "FAST", "slow": "ﬆöß😀"}),
		mapping.Enum(map[Bits]string{1: "one", 2: "two"}),
		mapping.Codec(Money.row, func(r moneyRow) (Money, error) { return NewMoney(r.Amount, r.Currency) }),
		mapping.Codec(SKU.text, parseSKU),
		mapping.Codec(Route.row, func(r routeRow) (Route, error) { return Route{r.Stops, r.Fees, r.Maybe}, nil }),
		mapping.Codec(shapeOut, shapeIn),
	)
	if err != nil {
		panic(err)
	}
	return r
}

func shapeOut(s Shape) shapeRow {
	if s == nil {
		return shapeRow{}
	}
	return shapeRow{sql.Null[float64]{V: s.(circle).radius, Valid: true}}
}

func shapeIn(r shapeRow) (Shape, error) {
	if !r.Radius.Valid {
		return nil, nil
	}
	return circle{r.Radius.V}, nil
}

// Must returns an amount of zero in a currency.
func Must(currency string) Money {
	m, err := NewMoney(decimal.Decimal{}, currency)
	if err != nil {
		panic(err)
	}
	return m
}
