package usecase_test

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/usecase"
)

func run[In any](context.Context, access.Self[In, none]) error { return nil }

func ask[In any](context.Context, access.Self[In, none]) (int, error) { return 0, nil }

func problemsOf(o access.Option) string {
	return errors.Join(o.Declared.Declaration().Check()...).Error()
}

func TestOptionsThatDoNotFitAreProblemsOfTheDeclaration(t *testing.T) {
	t.Parallel()
	type In struct{ N int }
	for want, o := range map[string]access.Option{
		"checks string, but the input is usecase_test.In": usecase.DeclareAction("a.B", run[In], usecase.Validate(func(string) error { return nil })),
		"usecase.Validate with a nil function":            usecase.DeclareAction("a.B", run[In], usecase.Validate[In](nil)),
		"no isolation level Snapshot":                     usecase.DeclareAction("a.B", run[In], usecase.Isolation(sql.LevelSnapshot)),
		"no isolation level Read Uncommitted":             usecase.DeclareAction("a.B", run[In], usecase.Isolation(sql.LevelReadUncommitted)),
		"ReadOnly: a service opens no transaction":        usecase.DeclareService("a.B", ask[In], usecase.ReadOnly()),
		"Isolation: a service opens no transaction":       usecase.DeclareService("a.B", ask[In], usecase.Isolation(sql.LevelSerializable)),
		"RetryConflicts: a service opens no transaction":  usecase.DeclareService("a.B", ask[In], usecase.RetryConflicts(1)),
		"RetryConflicts(0): want at least 1":              usecase.DeclareAction("a.B", run[In], usecase.RetryConflicts(0)),
		"[]: interface {} cannot be copied":               usecase.DeclareAction("a.B", run[[]any], usecase.RetryConflicts(1)),
		access.ErrNilFunction.Error():                     usecase.DeclareAction[In, none]("a.B", nil),
		"malformed identity":                              usecase.Declare("B", ask[In]),
		"its Deps are int":                                usecase.DeclareAction("a.B", func(context.Context, access.Self[In, int]) error { return nil }),
	} {
		require.Contains(t, problemsOf(o), want)
		require.Contains(t, problemsOf(o), "(usecase/options_test.go:", "the place of the declaration")
	}
	all := problemsOf(usecase.DeclareAction[In, none]("B", nil, usecase.RetryConflicts(0), nil, usecase.Validate[In](nil)))
	for _, want := range []string{"malformed", "nil function", "RetryConflicts(0)", "Validate with a nil"} {
		require.Contains(t, all, want, "all problems at once")
	}
}

func TestADeclarationKnowsWhatItDeclares(t *testing.T) {
	t.Parallel()
	type In struct{}
	_, file, line, _ := runtime.Caller(0)
	o := usecase.Declare("a.b.C", ask[In], usecase.ReadOnly(), usecase.Isolation(sql.LevelRepeatableRead), nil)
	d := o.Declared.Declaration()
	require.Empty(t, d.Check())
	require.Equal(t, access.Location{File: file, Line: line + 1}, d.Source)
	require.Equal(t, file, d.Function.File)
	require.Equal(t, reflect.TypeFor[In](), d.Input)
	require.Equal(t, reflect.TypeFor[int](), d.Output)
	require.Equal(t, access.KindUsecase, d.Kind)
	require.Equal(t, reflect.TypeFor[usecase.Usecase[In, int]](), o.HandleType)
	require.Equal(t, persistence.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}, o.Declared.(*usecase.Definition).Transaction())
	require.Contains(t, o.String(), "usecase a.b.C (usecase/options_test.go:")
	require.Equal(t, access.KindAction, usecase.DeclareAction("a.B", run[In]).Declared.Declaration().Kind)
	require.Equal(t, access.KindService, usecase.DeclareService("a.B", ask[In]).Declared.Declaration().Kind)
}

func TestOnlyInputsThatCanBeCopiedCanBeRetried(t *testing.T) {
	t.Parallel()
	type (
		plain  struct{ n int }
		hidden struct{ p *int }
		tree   struct{ Children []tree }
	)
	_, _ = plain{}.n, hidden{}.p
	for _, o := range []access.Option{
		usecase.DeclareAction("a.B", run[int], usecase.RetryConflicts(1)),
		usecase.DeclareAction("a.B", run[plain], usecase.RetryConflicts(1)),
		usecase.DeclareAction("a.B", run[*plain], usecase.RetryConflicts(1)),
		usecase.DeclareAction("a.B", run[map[string][]*plain], usecase.RetryConflicts(1)),
		usecase.DeclareAction("a.B", run[[2]time.Time], usecase.RetryConflicts(1)),
		usecase.DeclareAction("a.B", run[struct{ A, B []int }], usecase.RetryConflicts(1)),
	} {
		require.Empty(t, o.Declared.Declaration().Check())
	}
	for want, o := range map[string]access.Option{
		"usecase_test.hidden.p": usecase.DeclareAction("a.B", run[hidden], usecase.RetryConflicts(1)),
		"contains itself":       usecase.DeclareAction("a.B", run[tree], usecase.RetryConflicts(1)),
		"func() cannot":         usecase.DeclareAction("a.B", run[struct{ F func() }], usecase.RetryConflicts(1)),
		"with keys of type":     usecase.DeclareAction("a.B", run[map[*int]int], usecase.RetryConflicts(1)),
		"chan int cannot":       usecase.DeclareAction("a.B", run[chan int], usecase.RetryConflicts(1)),
	} {
		require.Contains(t, problemsOf(o), want)
	}
}
