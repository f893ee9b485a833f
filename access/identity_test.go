package access_test

import (
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/access"
)

func TestAnIdentityIsANamespaceAndAName(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"a.B", "example.delivery.StopMoved", "a b.C d", "ä.Ö", `a"b.C"d`, "a.b.c.d.e", "a.1", "a-b.c_d", "a.B@c", "日本.語",
	} {
		require.NoError(t, access.CheckIdentity(good), "%q", good)
	}
	for bad, why := range map[string]string{
		"": "want namespace.Name", "StopMoved": "want namespace.Name", ".": "empty part", "a.": "empty part", ".a": "empty part", "a..b": "empty part",
		"@a.b": "begins with @", "a.@event:b": "begins with @", "a. b": "space", "a.b ": "space", "a\u00a0.b": "space",
		"a.b\x00": "control", "a.b\nc": "control", "a.b\u0085c": "control", "a.\xff": "UTF-8",
	} {
		require.ErrorContains(t, access.CheckIdentity(bad), why, "%q", bad)
	}
}

func FuzzIdentity(f *testing.F) {
	for _, s := range []string{"a.b", "", "a..b", "@a.b", "a.b\x00", "a.\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, identity string) {
		if access.CheckIdentity(identity) != nil {
			return
		}
		d := access.Declaration{Identity: identity}
		require.Equal(t, identity, d.Namespace()+"."+d.Name(), "namespace and name make the identity again")
		require.NotEmpty(t, d.Namespace())
		require.NotEmpty(t, d.Name())
		require.False(t, strings.ContainsRune(identity, 0))
	})
}

func TestADeclarationNamesItsKindIdentityAndPlace(t *testing.T) {
	t.Parallel()
	d := access.Declaration{Kind: access.KindEvent, Identity: "a.b.C", Source: access.Location{File: "/home/me/app/delivery/module.go", Line: 7}}
	require.Equal(t, "event a.b.C (delivery/module.go:7)", d.String())
	require.Equal(t, "a.b", d.Namespace())
	require.Equal(t, "C", d.Name())
	require.Equal(t, "unknown place", access.Location{}.String())
	require.Equal(t, "kind 99", access.Kind(99).String())
	for k := access.KindUsecase; k <= access.KindDeferredListener; k++ {
		require.NotContains(t, k.String(), "kind", "every kind has a name")
	}
}

func here(t *testing.T) access.Location {
	t.Helper()
	_, file, line, ok := runtime.Caller(1)
	require.True(t, ok)
	return access.Location{File: file, Line: line}
}

func caller() access.Location { return access.Caller(0) }

func aFunction() {}

func TestPlacesAreThoseOfTheApp(t *testing.T) {
	t.Parallel()
	want := here(t)
	require.Equal(t, access.Location{File: want.File, Line: want.Line + 1}, caller())
	require.Equal(t, want.File, access.FunctionLocation(aFunction).File)
	for _, none := range []any{nil, 1, (func())(nil)} {
		require.Zero(t, access.FunctionLocation(none), "%v", none)
	}
	require.Zero(t, access.Caller(1000))
}

func TestEveryProblemOfADeclarationIsReportedWithItsPlace(t *testing.T) {
	t.Parallel()
	d := access.Declaration{
		Kind: access.KindAction, Identity: "nonsense", Source: access.Location{File: "a/b.go", Line: 3},
		Deps: reflect.TypeFor[struct{ hidden int }](), Problems: []error{errors.New("first"), access.ErrNilFunction},
	}
	_ = struct{ hidden int }{}.hidden
	errs := d.Check()
	require.Len(t, errs, 4)
	for i, want := range []string{"first", "nil function", "malformed identity", "field hidden of its Deps is unexported"} {
		require.ErrorContains(t, errs[i], want)
		require.ErrorContains(t, errs[i], "action nonsense (a/b.go:3): ")
	}
	require.Equal(t, []error{errors.New("first"), access.ErrNilFunction}, d.Problems, "Check changes nothing")
}
