package events

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/persistence/mapping"
	"github.com/tidings-go/tidings/persistence/schema"
)

// Plans says how one app stores its event types: each is planned once, when the
// app is assembled and all its codecs and enums are known. It is safe for
// concurrent use.
type Plans struct {
	registry *mapping.Registry
	problem  error

	mu    sync.Mutex
	known map[*Type]*planned
}

// planned is a type with its plan, or with what keeps it from being stored.
type planned struct {
	plan     *mapping.Plan
	tables   []schema.Table
	problems []error
}

// NewPlans returns plans that use the codecs and enums of an app, in any order.
// What is wrong with them, Check reports.
func NewPlans(registrations ...mapping.Registration) *Plans {
	p := &Plans{known: map[*Type]*planned{}}
	p.registry, p.problem = mapping.NewRegistry(registrations...)
	return p
}

// Check returns everything wrong with codecs, enums and the storage of these
// types, such as fields that cannot be stored and names that are too long or
// collide; each problem with the places of the declarations.
func (p *Plans) Check(types []*Type) []error {
	problems := parts(p.problem)
	for _, t := range types {
		problems = append(problems, p.of(t).problems...)
	}
	return append(problems, p.collisions(types)...)
}

func (p *Plans) of(t *Type) *planned {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.known[t]; ok {
		return known
	}
	made := p.make(t)
	for i, problem := range made.problems {
		made.problems[i] = fmt.Errorf("%s: %w", &t.decl, problem)
	}
	p.known[t] = made
	return made
}

func (p *Plans) make(t *Type) *planned {
	if t.decl.Input.Kind() != reflect.Struct {
		return &planned{} // which its declaration reports
	}
	opts := append(slices.Clone(t.mapping), mapping.With(p.registry), mapping.Reserved(eventID))
	if prefix := t.tableName(""); schema.CheckName(prefix) == nil {
		opts = append(opts, mapping.TablePrefix(prefix+"."))
	}
	plan, err := mapping.NewPlan(t.decl.Input, opts...)
	if err != nil {
		return &planned{problems: parts(err)}
	}
	if access.CheckIdentity(t.decl.Identity) != nil {
		return &planned{} // likewise: it has no names for tables
	}
	made := &planned{plan: plan, tables: t.tables(plan)}
	made.problems = parts(schema.Model{Tables: made.tables}.Validate())
	return made
}

// parts returns the errors that were joined.
func parts(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok && strings.Contains(err.Error(), "\n") {
		return slices.Clone(joined.Unwrap())
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// collisions finds tables of different types that have one name, also the name
// of a primary key: PostgreSQL keeps both in one name space.
func (p *Plans) collisions(types []*Type) []error {
	type owner struct {
		what string
		typ  *Type
	}
	owners := map[string]owner{}
	var problems []error
	for _, t := range types {
		for _, table := range p.of(t).tables {
			names := []owner{{"table", t}, {"primary key", t}}
			for i, name := range []string{table.Name, table.PrimaryKeyName()} {
				key := schema.Qualified(table.Schema, name)
				other, taken := owners[key]
				if !taken {
					owners[key] = names[i]
				} else if other.typ != t && other.typ.decl.Identity != t.decl.Identity {
					problems = append(problems, fmt.Errorf("%s: its %s %s has the name of a %s of the %s: give one of the events another name",
						&t.decl, names[i].what, key, other.what, &other.typ.decl))
				}
			}
		}
	}
	return problems
}
