package usecase

import (
	"context"
	"fmt"
	"reflect"

	"github.com/tidings-go/tidings/access"
)

// Usecase is the handle of a declared usecase. It is a small value, safe for
// concurrent use; a zero handle returns access.ErrNotRunning.
type Usecase[In, Out any] struct {
	call func(context.Context, In) (Out, error)
}

// Execute runs the usecase. It joins the transaction that ctx carries, or opens
// one and commits it before it returns. Errors carry the usecase's identity and
// the place of its declaration and match those of package persistence:
// ErrRollbackOnly, ErrAborted, ErrUnknownOutcome. A panic of the usecase is
// returned as an *access.PanicError. On error the output is the zero value.
func (u Usecase[In, Out]) Execute(ctx context.Context, in In) (Out, error) {
	return call(ctx, u.call, in, u.HandleTarget())
}

// HandleTarget returns what the handle reaches.
func (Usecase[In, Out]) HandleTarget() access.Target {
	return access.Target{Kind: access.KindUsecase, Type: reflect.TypeFor[In]()}
}

// StubUsecase returns a handle that calls f, for tests of what depends on it.
func StubUsecase[In, Out any](f func(context.Context, In) (Out, error)) Usecase[In, Out] {
	return Usecase[In, Out]{f}
}

func connectUsecase[In, Out any](rt *access.Runtime) Usecase[In, Out] {
	return Usecase[In, Out]{connect[In, Out](rt, Usecase[In, Out]{}.HandleTarget())}
}

// Action is the handle of a declared action: a usecase without output.
type Action[In any] struct {
	call func(context.Context, In) (struct{}, error)
}

// Execute runs the action; see Usecase.Execute.
func (a Action[In]) Execute(ctx context.Context, in In) error {
	_, err := call(ctx, a.call, in, a.HandleTarget())
	return err
}

// HandleTarget returns what the handle reaches.
func (Action[In]) HandleTarget() access.Target {
	return access.Target{Kind: access.KindAction, Type: reflect.TypeFor[In]()}
}

// StubAction returns a handle that calls f, for tests of what depends on it.
func StubAction[In any](f func(context.Context, In) error) Action[In] {
	return Action[In]{func(ctx context.Context, in In) (struct{}, error) { return struct{}{}, f(ctx, in) }}
}

func connectAction[In any](rt *access.Runtime) Action[In] {
	return Action[In]{connect[In, struct{}](rt, Action[In]{}.HandleTarget())}
}

// Service is the handle of a declared service.
type Service[In, Out any] struct {
	call func(context.Context, In) (Out, error)
}

// Call runs the service, in the transaction that ctx carries, if any. An error
// does not mark that transaction rollback-only, a panic does.
func (s Service[In, Out]) Call(ctx context.Context, in In) (Out, error) {
	return call(ctx, s.call, in, s.HandleTarget())
}

// HandleTarget returns what the handle reaches.
func (Service[In, Out]) HandleTarget() access.Target {
	return access.Target{Kind: access.KindService, Type: reflect.TypeFor[In]()}
}

// StubService returns a handle that calls f, for tests of what depends on it.
func StubService[In, Out any](f func(context.Context, In) (Out, error)) Service[In, Out] {
	return Service[In, Out]{f}
}

func connectService[In, Out any](rt *access.Runtime) Service[In, Out] {
	return Service[In, Out]{connect[In, Out](rt, Service[In, Out]{}.HandleTarget())}
}

func connect[In, Out any](rt *access.Runtime, target access.Target) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) {
		out, err := rt.Call(ctx, target, in)
		return as[Out](out), err
	}
}

func call[In, Out any](ctx context.Context, f func(context.Context, In) (Out, error), in In, target access.Target) (Out, error) {
	if f == nil {
		var none Out
		return none, fmt.Errorf("%s: zero handle: %w", target, access.ErrNotRunning)
	}
	return f(ctx, in)
}
