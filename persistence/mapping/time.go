package mapping

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/tidings-go/tidings/persistence/schema"
)

var timeType = reflect.TypeFor[time.Time]()

// The range is that of timestamptz (4714-11-24 BC to 294276), cut to whole years
// so that no session's time zone leads out of it. Both drivers read all of it.
var (
	earliest = time.Date(-4712, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(294275, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
)

// timestamp writes an instant, cut to the microsecond because PostgreSQL would
// round. It is not left to the driver: lib/pq writes 29 February of year 0 as
// 1 March, and may be told (pq.EnableInfinityTs) to write some times as infinity.
func timestamp(t time.Time) string {
	t = t.UTC()
	year, era := t.Year(), ""
	if year <= 0 {
		year, era = 1-year, " BC"
	}
	return fmt.Sprintf("%04d", year) + t.Format("-01-02 15:04:05.000000") + "+00" + era
}

// timeNode is a time: instant, nanoseconds beyond the microsecond, offset, name
// of the location. As a key it is in UTC, so that the last two need no columns:
// Go compares times as keys with their location, by its address.
type timeNode struct {
	place
	key       bool
	validates validation
}

func (n *timeNode) columns() []schema.Column {
	columns := []schema.Column{
		{Name: n.name, Type: "timestamp with time zone", NotNull: true},
		{Name: "@nanos:" + n.name, Type: "smallint", NotNull: true},
		{Name: "@offset:" + n.name, Type: "integer", NotNull: true},
		{Name: "@zone:" + n.name, Type: "text", NotNull: true},
	}
	if n.key {
		return columns[:2]
	}
	return columns
}

func (n *timeNode) checks() []schema.Check {
	name := "@nanos:" + n.name
	return []schema.Check{{Name: name, Expression: schema.Quote(name) + " BETWEEN 0 AND 999"}}
}

func (n *timeNode) encode(w *writer, v reflect.Value, row []any) ([]any, error) {
	t := v.Convert(timeType).Interface().(time.Time)
	if t.Before(earliest) || t.After(latest) {
		return nil, n.value(&w.walk, errors.New("time is out of range"),
			"the years 4713 BC to 294275 (in UTC) can be stored")
	}
	if n.key {
		if t != t.Round(0).UTC() {
			return nil, n.value(&w.walk, errors.New("time as a key is not in UTC or has a monotonic reading"),
				"use t.Round(0).UTC() as the key")
		}
		return append(row, timestamp(t), int64(t.Nanosecond()%1000)), nil
	}
	_, offset := t.Zone()
	zone := t.Location().String()
	if err := checkText(zone); err != nil {
		return nil, n.value(&w.walk, fmt.Errorf("zone name: %w", err), "give the location a plain name")
	}
	if offset < math.MinInt32 || offset > math.MaxInt32 {
		return nil, n.value(&w.walk, fmt.Errorf("zone offset of %d seconds", offset), "use a real offset from UTC")
	}
	return append(row, timestamp(t), int64(t.Nanosecond()%1000), int64(offset), zone), nil
}

func (n *timeNode) decode(r *reader, row []any, v reflect.Value) error {
	if n.key {
		row = append(slices.Clone(row), int64(0), "UTC")
	}
	t, err := rebuildTime(row)
	if err != nil {
		return n.rebuild(&r.walk, err)
	}
	v.Set(reflect.ValueOf(t).Convert(v.Type()))
	return nil
}

func (n *timeNode) validate(w *walk, v reflect.Value, problems []error) []error {
	return n.validates.run(n.place, w, v, problems)
}

func (n *timeNode) validated() bool { return bool(n.validates) }

func rebuildTime(row []any) (time.Time, error) {
	instant, err := asTime(row[0])
	if err != nil {
		return instant, err
	}
	nanoseconds, err := asInt(row[1])
	if err == nil && (nanoseconds < 0 || nanoseconds > 999) {
		err = fmt.Errorf("%d nanoseconds beyond the microsecond", nanoseconds)
	}
	if err != nil {
		return instant, err
	}
	offset, err := asInt(row[2])
	if err != nil {
		return instant, err
	}
	zone, err := asString(row[3])
	if err != nil {
		return instant, err
	}
	return inZone(instant.Add(time.Duration(nanoseconds)), zone, int(offset)), nil
}

// inZone gives a time its location: the one of that name, if it has this offset
// at this instant, else a fixed zone.
func inZone(t time.Time, zone string, offset int) time.Time {
	if location := locations.find(zone); location != nil {
		in := t.In(location)
		if _, actual := in.Zone(); actual == offset {
			return in
		}
	}
	return t.In(time.FixedZone(zone, offset))
}

// locations remembers what the names of locations mean: reading the time zone
// database costs a file each time. Names come from stored rows, so their number
// is bounded.
var locations = &locationCache{known: map[string]*time.Location{}}

const maxLocations = 2000 // the database has some 600 names

type locationCache struct {
	mu    sync.RWMutex
	known map[string]*time.Location // nil: no such location
}

func (c *locationCache) find(name string) *time.Location {
	switch name {
	case "":
		return nil // time.LoadLocation would say UTC
	case "UTC":
		return time.UTC
	case "Local":
		return time.Local
	}
	c.mu.RLock()
	location, ok := c.known[name]
	c.mu.RUnlock()
	if ok {
		return location
	}
	location, err := time.LoadLocation(name)
	if err != nil {
		location = nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) < maxLocations {
		c.known[name] = location
	}
	return location
}
