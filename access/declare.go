package access

import (
	"fmt"
	"reflect"

	"go.uber.org/fx"
)

// Option is the fx option of one declaration. It can be used like any other fx
// option; kernel.Module also looks inside, to report duplicates with the app's
// own places.
type Option struct {
	fx.Option
	// Declared is what is declared.
	Declared Declared
	// Core is the option without the handle, for a second declaration of the
	// same handle: fx would stop at it before the kernel can report both.
	Core fx.Option
	// HandleType is the type of the provided handle.
	HandleType reflect.Type
}

// Bound is a declaration with its Deps filled from the container of one app.
type Bound struct {
	Declared Declared
	// Deps is a value of the declared Deps type.
	Deps any
}

type declaredOut struct {
	fx.Out
	Declared  Declared     `group:"tidings.declared"`
	Lifecycle fx.Lifecycle `group:"tidings.lifecycles"`
}

type boundOut struct {
	fx.Out
	Bound Bound `group:"tidings.bound"`
}

// DeclaredIn receives all declarations of an app, in no order.
type DeclaredIn struct {
	fx.In
	Declared []Declared `group:"tidings.declared"`
	// Lifecycles are the lifecycles of the scopes in which they stand.
	Lifecycles []fx.Lifecycle `group:"tidings.lifecycles"`
}

// BoundIn receives all declarations with their Deps, in no order.
type BoundIn struct {
	fx.In
	Bound []Bound `group:"tidings.bound"`
}

// Declare returns the option that adds d to an app's declarations, fills its
// Deps and provides its handle. newHandle is a func(*Runtime) H.
func Declare[H any](d Declared, newHandle func(*Runtime) H) Option {
	core := declareCore(d)
	o := Option{Option: core, Core: core, Declared: d}
	if newHandle != nil {
		o.HandleType = reflect.TypeFor[H]()
		o.Option = fx.Options(core, fx.Provide(newHandle))
	}
	return o
}

func declareCore(d Declared) fx.Option {
	opts := []fx.Option{fx.Provide(func(lc fx.Lifecycle) declaredOut {
		return declaredOut{Declared: d, Lifecycle: lc}
	})}
	if deps := d.Declaration().Deps; deps != nil && len(checkDeps(deps)) == 0 {
		opts = append(opts, fx.Provide(fillDeps(d, deps)))
	}
	return fx.Options(opts...)
}

// String names the declaration in fx's own output.
func (o Option) String() string {
	return fmt.Sprintf("tidings.Declare(%s)", o.Declared.Declaration())
}

var (
	fxIn   = reflect.TypeFor[fx.In]()
	boundT = reflect.TypeFor[boundOut]()
)

// fillDeps returns a constructor func(struct{ fx.In; fields of deps }) boundOut:
// the tags of the fields pass through to fx, their names do not, since one may be
// that of the embedded fx.In.
func fillDeps(d Declared, deps reflect.Type) any {
	fields := []reflect.StructField{{Name: "In", Type: fxIn, Anonymous: true}}
	index := make([]int, 0, deps.NumField())
	for i := range deps.NumField() {
		f := deps.Field(i)
		if f.Type == fxIn {
			continue
		}
		index = append(index, i)
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("Field%d", i), Type: f.Type, Tag: f.Tag})
	}
	params := reflect.StructOf(fields)
	fn := reflect.FuncOf([]reflect.Type{params}, []reflect.Type{boundT}, false)
	return reflect.MakeFunc(fn, func(args []reflect.Value) []reflect.Value {
		v := reflect.New(deps).Elem()
		for n, i := range index {
			v.Field(i).Set(args[0].Field(n + 1))
		}
		return []reflect.Value{reflect.ValueOf(boundOut{Bound: Bound{d, v.Interface()}})}
	}).Interface()
}
