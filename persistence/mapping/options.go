package mapping

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tidings-go/tidings/persistence/schema"
)

// Option changes how [NewPlan] maps a type. Options of any number combine; what
// does not fit is an error of NewPlan.
type Option interface {
	apply(*builder)
}

type optionFunc func(*builder)

func (f optionFunc) apply(b *builder) { f(b) }

// With has registered codecs and enums used. Given twice, the last one counts.
func With(r *Registry) Option {
	return optionFunc(func(b *builder) { b.registry = r })
}

// Column gives the field at a path (Go names joined by dots: Path.To.Field, with
// [] for the elements of a list or map and [key] for its keys: Lines[].Note)
// another column name. On a field with several columns it is their stem: the
// fields of a struct become name.Field, the technical columns of a time
// @offset:name. On a list, set or map it names the table of the elements. A path
// that the type does not have, or one that is named twice, is an error.
func Column(path, name string) Option {
	return optionFunc(func(b *builder) {
		if _, twice := b.renames[path]; twice {
			b.report(path, errors.New("Column names this field twice"), "keep one of them")
			return
		}
		if err := checkColumn(name); err != nil {
			b.report(path, fmt.Errorf("Column: %w", err), "choose another column name")
		}
		b.renames[path] = &rename{name: name}
	})
}

// Reserved keeps column names of the first table for others, such as "id" for the
// event's own id.
// Names that begin with @ are always reserved.
func Reserved(names ...string) Option {
	return optionFunc(func(b *builder) {
		for _, name := range names {
			b.reserved[name] = "the framework"
		}
	})
}

// TablePrefix has the names of the tables of lists, sets and maps checked for
// their length behind a prefix, such as "@event:StopMoved.".
func TablePrefix(prefix string) Option {
	return optionFunc(func(b *builder) { b.prefix = prefix })
}

type rename struct {
	name string
	used bool
}

func checkColumn(name string) error {
	if strings.HasPrefix(name, "@") {
		return fmt.Errorf("name %q begins with @, which marks technical columns", name)
	}
	return schema.CheckColumnName(name)
}
