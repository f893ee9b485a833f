package usecase_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/kernel/kerneltest"
	"github.com/tidings-go/tidings/usecase"
)

func TestAServiceWithoutATransactionOpensNone(t *testing.T) {
	t.Parallel()
	type (
		Ask   struct{ Verb string }
		Heard struct{ N int }
		asks  struct{ Heard events.Emitter[Heard] }
	)
	ran := 0
	k := start(t, kernel.Module("test",
		events.Declare[Heard]("test.service.Heard"),
		events.Sync("test.service.Count", func(context.Context, events.Self[Heard, none]) error { ran++; return nil }),
		usecase.DeclareService("test.service.Ask", func(ctx context.Context, self access.Self[Ask, asks]) (int, error) {
			var err error
			switch tx := self.Tx; self.Input.Verb {
			case "Exec":
				_, err = tx.ExecContext(ctx, note, "x")
			case "ExecOne":
				err = tx.ExecOne(ctx, note, "x")
			case "Get":
				err = tx.GetContext(ctx, new(int), `SELECT 1`)
			case "Select":
				err = tx.SelectContext(ctx, &[]int{}, `SELECT 1`)
			case "NamedExec":
				_, err = tx.NamedExecContext(ctx, note, none{})
			case "Queryx":
				_, err = tx.QueryxContext(ctx, `SELECT 1`)
			case "QueryRowx":
				row := tx.QueryRowxContext(ctx, `SELECT 1`)
				require.ErrorIs(t, row.Err(), access.ErrNoTransaction)
				err = row.Scan(new(int))
			case "Emit":
				err = self.Deps.Heard.Emit(ctx, Heard{1})
			default:
				return 7, nil
			}
			return 0, err
		}),
	))
	ask := kerneltest.Get[usecase.Service[Ask, int]](k)
	for _, verb := range []string{"Exec", "ExecOne", "Get", "Select", "NamedExec", "Queryx", "QueryRowx", "Emit"} {
		_, err := ask.Call(t.Context(), Ask{verb})
		require.ErrorIs(t, err, access.ErrNoTransaction, verb)
	}
	n, err := ask.Call(t.Context(), Ask{})
	require.NoError(t, err)
	require.Equal(t, 7, n)
	require.Zero(t, ran)
	require.Empty(t, notes(t, k))
}

func TestAPanicOfAServiceIsAnError(t *testing.T) {
	t.Parallel()
	type Ask struct{}
	k := start(t, kernel.Module("test",
		usecase.DeclareService("test.service.Panic", func(context.Context, access.Self[Ask, none]) (int, error) { panic(errEnd) }),
	))
	_, err := kerneltest.Get[usecase.Service[Ask, int]](k).Call(t.Context(), Ask{})
	require.ErrorIs(t, err, errEnd)
	require.ErrorContains(t, err, "test.service.Panic (usecase/service_test.go:")
}

func TestAnInputIsCheckedBeforeAnythingIsRun(t *testing.T) {
	t.Parallel()
	type (
		In    struct{ N int }
		Outer struct{}
		outer struct{ In usecase.Usecase[In, int] }
	)
	ran := 0
	k := start(t, kernel.Module("test",
		usecase.Declare("test.valid.In", func(context.Context, access.Self[In, none]) (int, error) { ran++; return ran, nil },
			usecase.Validate(func(in In) error {
				if in.N < 0 {
					return errEnd
				}
				return nil
			}),
			usecase.Validate(func(in In) error {
				if in.N == 7 {
					panic(errEnd)
				}
				return nil
			})),
		usecase.DeclareAction("test.valid.Outer", func(ctx context.Context, self access.Self[Outer, outer]) error {
			_, err := self.Deps.In.Execute(ctx, In{-1})
			if !errors.Is(err, usecase.ErrInvalid) {
				return err
			}
			return self.Tx.ExecOne(ctx, note, "refused input spoils nothing")
		}),
	))
	in := kerneltest.Get[usecase.Usecase[In, int]](k)
	connections := k.DB().Stats().MaxOpenConnections
	require.Equal(t, 1, connections)
	held, err := k.DB().Connx(t.Context()) // the only connection: a check needs none
	require.NoError(t, err)
	for _, n := range []int{-1, 7} {
		_, err := in.Execute(t.Context(), In{n})
		require.ErrorIs(t, err, usecase.ErrInvalid)
		require.ErrorIs(t, err, errEnd)
		require.ErrorContains(t, err, "test.valid.In")
	}
	require.NoError(t, held.Close())
	require.Zero(t, ran)
	_, err = in.Execute(t.Context(), In{1})
	require.NoError(t, err)
	require.NoError(t, kerneltest.Get[usecase.Action[Outer]](k).Execute(t.Context(), Outer{}))
	require.Equal(t, []string{"refused input spoils nothing"}, notes(t, k))
}

func TestZeroHandlesSayThatNothingRuns(t *testing.T) {
	t.Parallel()
	type In struct{}
	_, err := usecase.Usecase[In, int]{}.Execute(t.Context(), In{})
	require.ErrorIs(t, err, access.ErrNotRunning)
	require.ErrorContains(t, err, "usecase_test.In")
	require.ErrorIs(t, usecase.Action[In]{}.Execute(t.Context(), In{}), access.ErrNotRunning)
	_, err = usecase.Service[In, int]{}.Call(t.Context(), In{})
	require.ErrorIs(t, err, access.ErrNotRunning)
}

func TestStubsStandInForHandles(t *testing.T) {
	t.Parallel()
	type In struct{ N int }
	double := func(_ context.Context, in In) (int, error) { return 2 * in.N, nil }
	n, err := usecase.StubUsecase(double).Execute(t.Context(), In{2})
	require.NoError(t, err)
	require.Equal(t, 4, n)
	n, err = usecase.StubService(double).Call(t.Context(), In{3})
	require.NoError(t, err)
	require.Equal(t, 6, n)
	require.ErrorIs(t, usecase.StubAction(func(context.Context, In) error { return errEnd }).Execute(t.Context(), In{}), errEnd)
}

func TestAnOperationIsTestedByFillingItsSelf(t *testing.T) {
	t.Parallel()
	type (
		In     struct{ N int }
		Price  struct{ N int }
		Priced struct{ Cents int }
		deps   struct {
			Price  usecase.Service[Price, int]
			Priced events.Emitter[Priced]
		}
	)
	operation := func(ctx context.Context, self access.Self[In, deps]) (int, error) {
		cents, err := self.Deps.Price.Call(ctx, Price(self.Input))
		if err != nil {
			return 0, err
		}
		return cents, self.Deps.Priced.Emit(ctx, Priced{cents})
	}
	var emitted []Priced
	cents, err := operation(t.Context(), access.Self[In, deps]{Input: In{5}, Deps: deps{
		Price:  usecase.StubService(func(_ context.Context, in Price) (int, error) { return 100 * in.N, nil }),
		Priced: events.RecordTo(&emitted),
	}})
	require.NoError(t, err)
	require.Equal(t, 500, cents)
	require.Equal(t, []Priced{{500}}, emitted)
}

// TestInterfacesMayBeInputAndOutput: a nil of an interface type is a value like
// others.
func TestInterfacesMayBeInputAndOutput(t *testing.T) {
	t.Parallel()
	k := start(t, kernel.Module("test",
		usecase.Declare("test.any.Echo", func(_ context.Context, self access.Self[any, none]) (error, error) { //nolint:staticcheck // an error as output
			err, _ := self.Input.(error)
			return err, nil
		}),
	))
	echo := kerneltest.Get[usecase.Usecase[any, error]](k)
	for _, in := range []any{nil, errEnd} {
		out, err := echo.Execute(t.Context(), in)
		require.NoError(t, err)
		if in == nil {
			require.NoError(t, out)
		} else {
			require.ErrorIs(t, out, errEnd)
		}
	}
}
