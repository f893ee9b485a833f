package mapping

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
)

// cell takes whatever a driver returns for a column. The drivers differ: lib/pq
// gives numeric and uuid as bytes, pgx as strings.
type cell struct{ stored any }

// Scan implements [database/sql.Scanner].
func (c *cell) Scan(src any) error {
	if b, ok := src.([]byte); ok { // belongs to the driver
		if b != nil {
			c.stored = bytes.Clone(b)
		} else {
			c.stored = nil
		}
		return nil
	}
	c.stored = src
	return nil
}

func unexpected(stored any) error {
	return fmt.Errorf("the driver returned %T, which this column cannot hold", stored)
}

func asBool(stored any) (bool, error) {
	if b, ok := stored.(bool); ok {
		return b, nil
	}
	if stored == nil {
		return false, errNull
	}
	s, err := asString(stored)
	if err != nil {
		return false, err
	}
	return strconv.ParseBool(s)
}

func asInt(stored any) (int64, error) {
	if n, ok := stored.(int64); ok {
		return n, nil
	}
	s, err := asString(stored)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(s, 10, 64)
}

// putUint returns an unsigned integer as a driver value. Numeric columns take
// text, because no driver has unsigned integers.
func putUint(n uint64, column string) any {
	if column == "numeric(20,0)" {
		return strconv.FormatUint(n, 10)
	}
	return int64(n) //nolint:gosec // 32 bits at most
}

func asUint(stored any) (uint64, error) {
	if n, ok := stored.(int64); ok {
		if n < 0 {
			return 0, fmt.Errorf("%d is negative", n)
		}
		return uint64(n), nil
	}
	s, err := asString(stored)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(s, 10, 64)
}

// asFloat returns a float of the given size. lib/pq reads the shortest text of a
// real as a float64, whose conversion to float32 could round a second time;
// going through its own shortest text restores the digits that the server sent.
func asFloat(stored any, bits int) (float64, error) {
	f, ok := stored.(float64)
	if ok && bits == 64 {
		return f, nil
	}
	if ok {
		return strconv.ParseFloat(strconv.FormatFloat(f, 'g', -1, 64), bits)
	}
	s, err := asString(stored)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(s, bits)
}

func asString(stored any) (string, error) {
	switch s := stored.(type) {
	case string:
		return s, nil
	case []byte:
		return string(s), nil
	case nil:
		return "", errNull
	}
	return "", unexpected(stored)
}

func asTime(stored any) (time.Time, error) {
	switch t := stored.(type) {
	case time.Time:
		return t, nil
	case nil:
		return time.Time{}, errNull
	}
	return time.Time{}, unexpected(stored)
}
