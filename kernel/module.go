package kernel

import (
	"reflect"

	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
)

// module is an fx module whose parts are known, so that a handle declared twice
// reaches the kernel's check, which names both places, before fx stops at it.
type module struct {
	fx.Option
	name  string
	parts []fx.Option
}

// Module returns an fx module of an app: its providers and declarations. Nil
// options are left out.
func Module(name string, opts ...fx.Option) fx.Option {
	m := module{name: name, parts: opts}
	m.Option = m.rebuild(map[reflect.Type]bool{})
	return m
}

// rebuild returns the module without the handles that stand in seen, and adds
// its own to it.
func (m module) rebuild(seen map[reflect.Type]bool) fx.Option {
	return fx.Module(m.name, distinct(m.parts, seen)...)
}

// distinct returns opts such that no handle is provided twice.
func distinct(opts []fx.Option, seen map[reflect.Type]bool) []fx.Option {
	out := make([]fx.Option, 0, len(opts))
	for _, o := range opts {
		switch o := o.(type) {
		case nil:
		case Option:
			if o.Option != nil {
				out = append(out, o)
			}
		case module:
			out = append(out, o.rebuild(seen))
		case access.Option:
			if o.HandleType != nil && seen[o.HandleType] {
				out = append(out, o.Core)
				continue
			}
			seen[o.HandleType] = true
			out = append(out, o)
		default:
			out = append(out, o)
		}
	}
	return out
}

// Distinct returns opts with every handle provided once across modules; the
// kernel's check then reports the duplicate declarations with both places. Main
// and kerneltest do this by themselves.
func Distinct(opts ...fx.Option) fx.Option {
	return fx.Options(distinct(opts, map[reflect.Type]bool{})...)
}
