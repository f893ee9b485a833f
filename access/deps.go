package access

import (
	"database/sql"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/jmoiron/sqlx"
)

// Handle is implemented by the values that operations of an app are called
// through: usecase.Usecase, usecase.Action, usecase.Service, events.Emitter.
type Handle interface {
	// HandleTarget returns what the handle reaches. It works on a zero handle.
	HandleTarget() Target
}

var (
	handleType = reflect.TypeFor[Handle]()
	rawDBs     = []reflect.Type{reflect.TypeFor[*sqlx.DB](), reflect.TypeFor[*sql.DB]()}
)

// Use is one thing that an operation may call or emit, as its Deps say.
type Use struct {
	Field  string
	Target Target
	// Optional says that the operation also runs where nothing declares the
	// target; its handle is then the zero one.
	Optional bool
}

// Uses returns what an operation with these Deps may call and emit, in the
// order of the fields.
func Uses(deps reflect.Type) []Use {
	var uses []Use
	for _, f := range depFields(deps) {
		if f.Type.Implements(handleType) && f.Type.Kind() == reflect.Struct {
			h := reflect.Zero(f.Type).Interface().(Handle)
			uses = append(uses, Use{f.Name, h.HandleTarget(), IsOptional(f)})
		}
	}
	return uses
}

// IsOptional says whether a field of Deps has the tag optional:"true".
func IsOptional(f reflect.StructField) bool {
	optional, _ := strconv.ParseBool(f.Tag.Get("optional"))
	return optional
}

func depFields(deps reflect.Type) []reflect.StructField {
	if deps == nil || deps.Kind() != reflect.Struct {
		return nil
	}
	return reflect.VisibleFields(deps)
}

// checkDeps returns what is wrong with a Deps type whatever the container holds.
func checkDeps(deps reflect.Type) []error {
	if deps == nil {
		return nil
	}
	if deps.Kind() != reflect.Struct {
		return []error{fmt.Errorf("its Deps are %s: want a struct", deps)}
	}
	var errs []error
	for i := range deps.NumField() {
		f := deps.Field(i)
		if !f.IsExported() {
			errs = append(errs, fmt.Errorf("field %s of its Deps is unexported: the container cannot fill it", f.Name))
			continue
		}
		if err := checkTags(f); err != nil {
			errs = append(errs, fmt.Errorf("field %s of its Deps: %w", f.Name, err))
		}
		if f.Tag.Get("name") != "" || f.Tag.Get("group") != "" {
			continue
		}
		for _, raw := range rawDBs {
			if f.Type == raw {
				errs = append(errs, fmt.Errorf("field %s of its Deps is an untagged %s: writes belong to the transaction, self.Tx; another database is a named dependency (`name:\"…\"`)", f.Name, raw))
			}
		}
	}
	return errs
}

// checkTags returns an error for tags that fx would refuse, with no word of where
// they stand.
func checkTags(f reflect.StructField) error {
	if optional := f.Tag.Get("optional"); optional != "" {
		if _, err := strconv.ParseBool(optional); err != nil {
			return fmt.Errorf("the tag optional:%q is neither true nor false", optional)
		}
	}
	group := f.Tag.Get("group")
	if group == "" {
		return nil
	}
	_, options, _ := strings.Cut(group, ",")
	switch {
	case f.Type.Kind() != reflect.Slice:
		return fmt.Errorf("the tag group:%q wants a slice, not %v", group, f.Type)
	case f.Tag.Get("name") != "" || IsOptional(f):
		return fmt.Errorf("the tag group:%q goes with neither name nor optional: a group may be empty", group)
	case options != "" && options != "soft":
		return fmt.Errorf("the tag group:%q has other options than soft", group)
	}
	return nil
}
