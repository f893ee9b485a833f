package usecase

import (
	"context"
	"reflect"

	"github.com/tidings-go/tidings/access"
)

type ctx = context.Context

// Declare declares a usecase with input In and output Out and provides its
// handle, Usecase[In, Out]. One input type names one usecase or action of an
// app. Mistakes are reported at boot, all together, with the place of this call.
func Declare[In, Deps, Out any](identity string, f func(context.Context, access.Self[In, Deps]) (Out, error), opts ...Option) access.Option {
	d := define[In, Deps](access.KindUsecase, identity, f, opts)
	d.decl.Output = reflect.TypeFor[Out]()
	d.run = func(ctx ctx, deps, in any, tx access.Tx) (any, error) {
		return f(ctx, self[In, Deps](deps, in, tx))
	}
	return access.Declare(d, connectUsecase[In, Out])
}

// DeclareAction declares a usecase without output and provides its handle,
// Action[In].
func DeclareAction[In, Deps any](identity string, f func(context.Context, access.Self[In, Deps]) error, opts ...Option) access.Option {
	d := define[In, Deps](access.KindAction, identity, f, opts)
	d.run = func(ctx ctx, deps, in any, tx access.Tx) (any, error) {
		return nil, f(ctx, self[In, Deps](deps, in, tx))
	}
	return access.Declare(d, connectAction[In])
}

// DeclareService declares a service and provides its handle, Service[In, Out].
// One input type names one service of an app.
func DeclareService[In, Deps, Out any](identity string, f func(context.Context, access.Self[In, Deps]) (Out, error), opts ...Option) access.Option {
	d := define[In, Deps](access.KindService, identity, f, opts)
	d.decl.Output = reflect.TypeFor[Out]()
	d.run = func(ctx ctx, deps, in any, tx access.Tx) (any, error) {
		return f(ctx, self[In, Deps](deps, in, tx))
	}
	return access.Declare(d, connectService[In, Out])
}

// define is called by the exported functions alone: the place it records is
// that of their caller.
func define[In, Deps any](kind access.Kind, identity string, f any, opts []Option) *Definition {
	return newDefinition(access.Declaration{
		Kind: kind, Identity: identity, Source: access.Caller(1), Function: access.FunctionLocation(f),
		Input: reflect.TypeFor[In](), Deps: reflect.TypeFor[Deps](),
	}, reflect.ValueOf(f).IsNil(), opts)
}

func newDefinition(decl access.Declaration, isNil bool, opts []Option) *Definition {
	d := &Definition{decl: decl}
	if isNil {
		d.decl.Problems = append(d.decl.Problems, access.ErrNilFunction)
	}
	for _, o := range opts {
		if o == nil {
			continue
		}
		if err := o(d); err != nil {
			d.decl.Problems = append(d.decl.Problems, err)
		}
	}
	return d
}

func self[In, Deps any](deps, in any, tx access.Tx) access.Self[In, Deps] {
	return access.Self[In, Deps]{Input: as[In](in), Deps: as[Deps](deps), Tx: tx}
}

// as is v as a T; the nil of an interface type, which any cannot hold, is its
// zero value.
func as[T any](v any) T {
	t, _ := v.(T)
	return t
}
