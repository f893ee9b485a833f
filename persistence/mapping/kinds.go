package mapping

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

// integers has the storage of every integer but those of 64 bits without sign.
// The condition narrows the column where PostgreSQL's type is wider.
var integers = map[reflect.Kind]kind{
	reflect.Int8:   signed("smallint", "$ BETWEEN -128 AND 127"),
	reflect.Int16:  signed("smallint", ""),
	reflect.Int32:  signed("integer", ""),
	reflect.Int64:  signed("bigint", ""),
	reflect.Int:    signed("bigint", ""),
	reflect.Uint8:  unsigned("smallint", "$ BETWEEN 0 AND 255"),
	reflect.Uint16: unsigned("integer", "$ BETWEEN 0 AND 65535"),
	reflect.Uint32: unsigned("bigint", "$ BETWEEN 0 AND 4294967295"),
	reflect.Uint64: unsigned("numeric(20,0)", "$ BETWEEN 0 AND 18446744073709551615"),
	reflect.Uint:   unsigned("numeric(20,0)", "$ BETWEEN 0 AND 18446744073709551615"),
}

func signed(column, condition string) kind {
	return kind{
		column: column, condition: condition,
		put: func(v reflect.Value) (any, error) { return v.Int(), nil },
		get: func(stored any, v reflect.Value) error {
			n, err := asInt(stored)
			if err == nil && v.OverflowInt(n) {
				err = fmt.Errorf("%d is out of the range of %s", n, v.Type())
			}
			if err != nil {
				return err
			}
			v.SetInt(n)
			return nil
		},
	}
}

func unsigned(column, condition string) kind {
	return kind{
		column: column, condition: condition,
		put: func(v reflect.Value) (any, error) { return putUint(v.Uint(), column), nil },
		get: func(stored any, v reflect.Value) error {
			n, err := asUint(stored)
			if err == nil && v.OverflowUint(n) {
				err = fmt.Errorf("%d is out of the range of %s", n, v.Type())
			}
			if err != nil {
				return err
			}
			v.SetUint(n)
			return nil
		},
	}
}

var boolean = kind{
	column: "boolean",
	put:    func(v reflect.Value) (any, error) { return v.Bool(), nil },
	get: func(stored any, v reflect.Value) error {
		b, err := asBool(stored)
		if err != nil {
			return err
		}
		v.SetBool(b)
		return nil
	},
}

func float(column string, bits int) kind {
	return kind{
		column: column,
		put:    func(v reflect.Value) (any, error) { return v.Float(), nil },
		get: func(stored any, v reflect.Value) error {
			f, err := asFloat(stored, bits)
			if err != nil {
				return err
			}
			v.SetFloat(f)
			return nil
		},
	}
}

var text = kind{
	column: "text",
	wayOut: "clean the text before it is emitted, or declare the field as []byte",
	put:    func(v reflect.Value) (any, error) { return v.String(), checkText(v.String()) },
	get: func(stored any, v reflect.Value) error {
		s, err := asString(stored)
		if err != nil {
			return err
		}
		v.SetString(s)
		return nil
	},
}

func checkText(s string) error {
	if at := strings.IndexByte(s, 0); at >= 0 {
		return fmt.Errorf("text has NUL at byte %d", at)
	}
	if !utf8.ValidString(s) {
		return errors.New("text is not valid UTF-8")
	}
	return nil
}

var bytea = kind{
	column:   "bytea",
	nullable: true,
	put: func(v reflect.Value) (any, error) {
		if v.IsNil() {
			return nil, nil
		}
		return v.Bytes(), nil
	},
	get: func(stored any, v reflect.Value) error {
		if stored == nil {
			v.SetZero()
			return nil
		}
		b, ok := stored.([]byte)
		if !ok {
			return unexpected(stored)
		}
		v.SetBytes(b)
		return nil
	},
}

var identifier = kind{
	column: "uuid",
	put: func(v reflect.Value) (any, error) {
		return uuid.UUID(v.Bytes()).String(), nil
	},
	get: func(stored any, v reflect.Value) error {
		s, err := asString(stored)
		if err != nil {
			return err
		}
		id, err := uuid.Parse(s)
		if err != nil {
			return err
		}
		copy(v.Bytes(), id[:])
		return nil
	},
}
