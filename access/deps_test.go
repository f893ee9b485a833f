package access_test

import (
	"database/sql"
	"errors"
	"reflect"
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
)

// handle is what packages usecase and events make of access.Handle.
type handle struct{}

func (handle) HandleTarget() access.Target {
	return access.Target{Kind: access.KindEvent, Type: reflect.TypeFor[handle]()}
}

// declared declares an operation with Deps D.
type declared[D any] struct{ decl access.Declaration }

func (d *declared[D]) Declaration() *access.Declaration { return &d.decl }

func declare[D any]() *declared[D] {
	return &declared[D]{access.Declaration{Kind: access.KindAction, Identity: "a.B", Deps: reflect.TypeFor[D]()}}
}

func problems[D any]() string {
	return errors.Join(declare[D]().decl.Check()...).Error()
}

func TestDepsThatTheContainerCannotFillAreRefused(t *testing.T) {
	t.Parallel()
	require.Contains(t, problems[int](), "its Deps are int: want a struct")
	require.Contains(t, problems[*struct{}](), "want a struct")
	require.Contains(t, problems[any](), "want a struct")
	type hidden struct{ a int }
	_ = hidden{}.a
	require.Contains(t, problems[hidden](), "field a of its Deps is unexported")
	require.Contains(t, problems[struct{ hidden }](), "field hidden of its Deps is unexported")
	require.Contains(t, problems[struct {
		A int `group:"x"`
	}](), "field A of its Deps")
	require.Contains(t, problems[struct {
		A []int `group:"x" optional:"true"`
	}](), "field A of its Deps")
	require.Contains(t, problems[struct {
		A []int `group:"x" name:"y"`
	}](), "field A of its Deps")
	require.Contains(t, problems[struct {
		A []int `group:"x,flatten"`
	}](), "field A of its Deps")
	require.Contains(t, problems[struct {
		A int `optional:"maybe"`
	}](), "field A of its Deps")
	require.Empty(t, declare[struct {
		A []int `group:"x,soft"`
		B int   `name:"y" optional:"1"`
	}]().decl.Check())
}

func TestAnUntaggedDatabaseInDepsIsRefused(t *testing.T) {
	t.Parallel()
	require.Contains(t, problems[struct{ DB *sqlx.DB }](), "field DB of its Deps is an untagged *sqlx.DB: writes belong to the transaction")
	require.Contains(t, problems[struct{ DB *sql.DB }](), "untagged *sql.DB")
	require.Contains(t, problems[struct {
		DB *sqlx.DB `optional:"true"`
	}](), "untagged *sqlx.DB", "optional is no name")
	require.Empty(t, declare[struct {
		DB *sqlx.DB `name:"other"`
	}]().decl.Check())
}

func TestUsesAreTheHandlesAmongTheDeps(t *testing.T) {
	t.Parallel()
	type common struct{ C handle }
	type deps struct {
		fx.In
		A handle
		N int
		B handle `optional:"true"`
		common
	}
	var fields []string
	for _, u := range access.Uses(reflect.TypeFor[deps]()) {
		fields = append(fields, u.Field)
		require.Equal(t, handle{}.HandleTarget(), u.Target)
		require.Equal(t, u.Field == "B", u.Optional)
	}
	require.Equal(t, []string{"A", "B", "C"}, fields)
	require.Empty(t, access.Uses(nil))
	require.Empty(t, access.Uses(reflect.TypeFor[int]()))
}

// fill returns the Deps that a container fills.
func fill[D any](t *testing.T, opts ...fx.Option) D {
	t.Helper()
	var got []access.Bound
	app := fx.New(append(opts, fx.NopLogger, access.Declare[any](declare[D](), nil),
		fx.Invoke(func(in access.BoundIn) { got = in.Bound }))...)
	require.NoError(t, app.Err())
	require.Len(t, got, 1)
	return got[0].Deps.(D)
}

func TestTheContainerFillsDepsByTypeNameAndGroup(t *testing.T) {
	t.Parallel()
	type deps struct {
		Plain    int
		Named    string   `name:"n"`
		Group    []string `group:"g"`
		Missing  *sqlx.DB `name:"other" optional:"true"`
		Zero     stopper
		Optional float64 `optional:"true"`
	}
	got := fill[deps](t, fx.Supply(7), fx.Provide(
		fx.Annotate(func() string { return "named" }, fx.ResultTags(`name:"n"`)),
		fx.Annotate(func() string { return "member" }, fx.ResultTags(`group:"g"`)),
		func() stopper { return nil }, // provided, though zero
	))
	require.Equal(t, deps{Plain: 7, Named: "named", Group: []string{"member"}}, got)
}

type stopper interface{ Stop() }

func TestAFieldMayHaveAnyName(t *testing.T) {
	t.Parallel()
	type deps struct{ In, Out, Declared int }
	require.Equal(t, deps{7, 7, 7}, fill[deps](t, fx.Supply(7)))
	type withIn struct {
		fx.In
		Ünicode int
	}
	require.Equal(t, 7, fill[withIn](t, fx.Supply(7)).Ünicode)
}
