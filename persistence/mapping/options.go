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

// Column gives the field at a path (Go names joined by dots: Path.To.Field)
// another column name. On a field with several columns it is their stem: the
// fields of a struct become name.Field, the technical columns of a time
// @offset:name. A path that the type does not have, or one that is named twice,
// is an error.
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

// Reserved keeps column names for others, such as "id" for the event's own id.
// Names that begin with @ are always reserved.
func Reserved(names ...string) Option {
	return optionFunc(func(b *builder) {
		for _, name := range names {
			b.taken[name] = "the framework"
		}
	})
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
