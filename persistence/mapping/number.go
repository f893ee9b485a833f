package mapping

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/tidings-go/tidings/persistence/schema"
)

var (
	bigIntType  = reflect.TypeFor[big.Int]()
	decimalType = reflect.TypeFor[decimal.Decimal]()
)

// What numeric holds: digits before the point, digits behind it.
const (
	maxWhole    = 131_072
	maxFraction = 16_383
)

var errDigits = fmt.Errorf("number is too long for numeric, which holds %d digits before the point and %d behind it", maxWhole, maxFraction)

// bigInteger is big.Int. The check keeps out fractions, NaN and infinity, whose
// remainder is no zero.
var bigInteger = kind{
	column:    "numeric",
	condition: "$ % 1 = 0 AND scale($) = 0",
	wayOut:    "store its text",
	put: func(v reflect.Value) (any, error) {
		text := asBigInt(v).String()
		if len(strings.TrimPrefix(text, "-")) > maxWhole {
			return nil, errDigits
		}
		return text, nil
	},
	get: func(stored any, v reflect.Value) error {
		s, err := asNumber(stored)
		if err != nil {
			return err
		}
		if _, ok := asBigInt(v).SetString(s, 10); !ok {
			return fmt.Errorf("%.40q is no integer", s)
		}
		return nil
	},
}

// asBigInt returns the address of v, also of a named type over big.Int.
func asBigInt(v reflect.Value) *big.Int { return (*big.Int)(v.Addr().UnsafePointer()) }

func asNumber(stored any) (string, error) {
	if n, ok := stored.(int64); ok {
		return big.NewInt(n).String(), nil
	}
	return asString(stored)
}

// decimalNode is decimal.Decimal: its value, and the exponent that tells 1.50
// from 1.5 and 1E+3 from 1000.
type decimalNode struct {
	place
	validates validation
}

func (n *decimalNode) exponent() string { return "@exponent:" + n.name }

func (n *decimalNode) columns() []schema.Column {
	return []schema.Column{
		{Name: n.name, Type: "numeric", NotNull: true},
		{Name: n.exponent(), Type: "integer", NotNull: true},
	}
}

// checks keeps out NaN and infinity, whose difference from themselves is NaN.
func (n *decimalNode) checks() []schema.Check {
	name := schema.Quote(n.name)
	return []schema.Check{{Name: n.name, Expression: name + " - " + name + " = 0"}}
}

func (n *decimalNode) encode(w *writer, v reflect.Value, row []any) ([]any, error) {
	d := *asDecimal(v)
	text, err := digits(d.Coefficient(), d.Exponent())
	if err != nil {
		return nil, n.value(&w.walk, err, "round it")
	}
	return append(row, text, int64(d.Exponent())), nil
}

func asDecimal(v reflect.Value) *decimal.Decimal {
	return (*decimal.Decimal)(v.Addr().UnsafePointer())
}

// digits writes coefficient times ten to the power of exponent without an
// exponent.
func digits(coefficient *big.Int, exponent int32) (string, error) {
	if coefficient.Sign() == 0 {
		return "0", nil
	}
	text, sign := coefficient.String(), ""
	if text[0] == '-' {
		text, sign = text[1:], "-"
	}
	if int64(len(text))+int64(exponent) > maxWhole || exponent < -maxFraction {
		return "", errDigits
	}
	if exponent >= 0 {
		return sign + text + strings.Repeat("0", int(exponent)), nil
	}
	if missing := int(-exponent) + 1 - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	point := len(text) + int(exponent)
	return sign + text[:point] + "." + text[point:], nil
}

func (n *decimalNode) decode(r *reader, row []any, v reflect.Value) error {
	d, err := rebuildDecimal(row)
	if err != nil {
		return n.rebuild(&r.walk, err)
	}
	*asDecimal(v) = d
	return nil
}

func rebuildDecimal(row []any) (decimal.Decimal, error) {
	text, err := asNumber(row[0])
	if err != nil {
		return decimal.Decimal{}, err
	}
	exponent, err := asInt(row[1])
	if err != nil {
		return decimal.Decimal{}, err
	}
	if exponent != int64(int32(exponent)) { //nolint:gosec // the check itself
		return decimal.Decimal{}, fmt.Errorf("exponent %d", exponent)
	}
	whole, fraction, _ := strings.Cut(text, ".")
	coefficient, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok {
		return decimal.Decimal{}, fmt.Errorf("%.40q is no decimal number", text)
	}
	if coefficient.Sign() == 0 {
		return decimal.NewFromBigInt(coefficient, int32(exponent)), nil //nolint:gosec // checked above
	}
	shift := -int64(len(fraction)) - exponent
	if shift > maxWhole+maxFraction || shift < -maxWhole-maxFraction {
		return decimal.Decimal{}, errExponent
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(max(shift, -shift)), nil)
	if shift >= 0 {
		return decimal.NewFromBigInt(coefficient.Mul(coefficient, power), int32(exponent)), nil //nolint:gosec // checked above
	}
	var rest big.Int
	if coefficient.QuoRem(coefficient, power, &rest); rest.Sign() != 0 {
		return decimal.Decimal{}, errExponent
	}
	return decimal.NewFromBigInt(coefficient, int32(exponent)), nil //nolint:gosec // checked above
}

var errExponent = errors.New("number and exponent do not fit together")

func (n *decimalNode) validate(w *walk, v reflect.Value, problems []error) []error {
	return n.validates.run(n.place, w, v, problems)
}

func (n *decimalNode) validated() bool { return bool(n.validates) }
