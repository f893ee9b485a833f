package access_test

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/access"
)

var target = access.Target{Kind: access.KindUsecase, Type: reflect.TypeFor[int]()}

func TestAHandleWithoutARunningAppSaysSo(t *testing.T) {
	t.Parallel()
	var none *access.Runtime
	_, err := none.Call(t.Context(), target, 1)
	require.ErrorIs(t, err, access.ErrNotRunning)
	require.ErrorContains(t, err, "usecase with input int")
	_, err = access.NewRuntime().Call(t.Context(), target, 1)
	require.ErrorIs(t, err, access.ErrNotRunning)
}

func TestEndlessRecursionEndsWithErrDepth(t *testing.T) {
	t.Parallel()
	rt := access.NewRuntime()
	calls := 0
	rt.Bind(target, func(ctx context.Context, in any) (any, error) {
		calls++
		return rt.Call(ctx, target, in)
	})
	for range 2 { // depth is of the context, not of the runtime
		calls = 0
		_, err := rt.Call(t.Context(), target, 1)
		require.ErrorIs(t, err, access.ErrDepth)
		require.ErrorContains(t, err, "usecase with input int")
		require.Equal(t, 256, calls)
	}
}

func TestARuntimeIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	rt := access.NewRuntime()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			other := access.Target{Kind: access.Kind(i), Type: reflect.TypeFor[string]()}
			for range 100 {
				rt.Bind(other, func(_ context.Context, in any) (any, error) { return in, nil })
				if out, err := rt.Call(t.Context(), other, i); err != nil || out != i {
					t.Errorf("%v, %v", out, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestAPanicBecomesAnErrorWithItsValueAndStack(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	for _, value := range []any{"text", cause, 7, &struct{}{}} {
		err := access.Protect(func() error { panic(value) })
		var p *access.PanicError
		require.ErrorAs(t, err, &p)
		require.Equal(t, value, p.Value)
		require.Contains(t, string(p.Stack), "TestAPanicBecomesAnError")
		require.ErrorContains(t, err, "panic: ")
	}
	require.ErrorIs(t, access.Protect(func() error { panic(cause) }), cause)
	require.Error(t, access.Protect(func() error { panic(nil) }))
	var dereferenced *int
	var runtimeError runtime.Error
	require.ErrorAs(t, access.Protect(func() error { _ = *dereferenced; return nil }), &runtimeError)
	require.NoError(t, access.Protect(func() error { return nil }))
	require.Equal(t, cause, access.Protect(func() error { return cause }))
}

func TestGoexitPassesThroughProtect(t *testing.T) {
	t.Parallel()
	passed, deferred := true, false
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() { deferred = true }()
		_ = access.Protect(func() error { runtime.Goexit(); return nil })
		passed = false
	})
	wg.Wait()
	require.True(t, passed)
	require.True(t, deferred)
}

func TestAnErrorOfAnOperationNamesIt(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	d := &access.Declaration{Kind: access.KindService, Identity: "a.b.C", Source: access.Location{File: "x/y.go", Line: 4}}
	require.NoError(t, access.Identify(d, nil))
	err := access.Identify(d, cause)
	require.EqualError(t, err, "a.b.C (x/y.go:4): cause")
	require.ErrorIs(t, err, cause)
	var o *access.OperationError
	require.ErrorAs(t, err, &o)
	require.Equal(t, access.KindService, o.Kind)
}
