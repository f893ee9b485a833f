package kernel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/kernel/kerneltest"
	"github.com/tidings-go/tidings/usecase"
)

type none = struct{}

func run[In, Deps any](context.Context, access.Self[In, Deps]) error { return nil }

func ask[In, Deps any](context.Context, access.Self[In, Deps]) (out int, err error) { return 0, nil }

func listen[E, Deps any](context.Context, events.Self[E, Deps]) error { return nil }

// nowhere is a pool that nothing connects: to assemble an app needs no database.
func nowhere(t *testing.T) *sqlx.DB {
	t.Helper()
	pool, err := sqlx.Open("postgres", "postgres://nobody@127.0.0.1:1/nothing")
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	return pool
}

// assemble assembles an app as an existing fx app would.
func assemble(t *testing.T, opts ...fx.Option) error {
	t.Helper()
	return fx.New(append(opts, kernel.Options(kernel.Database(nowhere(t))), fx.NopLogger)...).Err()
}

type (
	Known   struct{ N int }
	Unknown struct{ N int }
	Order   struct{ N int }
	Mailer  interface{ Mail() }
)

func TestEveryMistakeOfTheDeclarationsIsReportedAtOnceWithItsPlace(t *testing.T) {
	t.Parallel()
	type (
		emits  struct{ Unknown events.Emitter[Unknown] }
		calls  struct{ Order usecase.Usecase[Unknown, int] }
		serves struct{ Ask usecase.Service[Unknown, int] }
		needs  struct{ Mailer Mailer }
		db     struct{ DB *sqlx.DB }
		Chan   struct{ Deep struct{ C chan int } }
	)
	_, _, first, _ := runtime.Caller(0)
	err := assemble(t, kernel.Module("test",
		events.Declare[Known]("test.all.Known"),
		events.Declare[Known]("test.all.KnownAgain"),
		usecase.DeclareAction("test.all.Known", run[string, none]),
		usecase.DeclareAction("malformed", run[int8, none]),
		usecase.DeclareAction("test.all.A", run[Order, none]),
		usecase.Declare("test.all.B", ask[Order, none]),
		usecase.DeclareService("test.all.S1", ask[Order, none]),
		usecase.DeclareService("test.all.S2", ask[Order, none]),
		usecase.DeclareAction("test.all.Emits", run[int16, emits]),
		usecase.DeclareAction("test.all.Calls", run[int32, calls]),
		usecase.DeclareAction("test.all.Serves", run[int64, serves]),
		usecase.DeclareAction("test.all.Needs", run[uint8, needs]),
		usecase.DeclareAction("test.all.DB", run[uint16, db]),
		events.Declare[Chan]("test.all.Chan"),
		events.Sync("test.all.Sync", listen[Unknown, none]),
		events.Deferred("test.all.Deferred", listen[Unknown, needs], events.MaxAttempts(0), events.Backoff(0, 0)),
		usecase.DeclareAction[uint32, none]("test.all.Nil", nil),
		usecase.DeclareAction("test.all.Validate", run[uint64, none], usecase.Validate(func(string) error { return nil })),
	))
	require.ErrorIs(t, err, kernel.ErrDeclarations)
	text := err.Error()
	for line, wants := range map[int][]string{
		2:  {"event test.all.KnownAgain", "its type kernel_test.Known is already that of the event test.all.Known"},
		3:  {"action test.all.Known", "its identity is already that of the event test.all.Known"},
		4:  {"malformed identity"},
		6:  {"usecase test.all.B", "its type kernel_test.Order is already that of the action test.all.A"},
		8:  {"service test.all.S2", "its type kernel_test.Order is already that of the service test.all.S1"},
		9:  {"field Unknown of its Deps: nothing declares the event of type kernel_test.Unknown"},
		10: {"field Order of its Deps: nothing declares the usecase with input kernel_test.Unknown"},
		11: {"field Ask of its Deps: nothing declares the service with input kernel_test.Unknown"},
		12: {"field Mailer of its Deps: nothing provides kernel_test.Mailer"},
		13: {"field DB of its Deps is an untagged *sqlx.DB"},
		14: {"Deep.C"},
		15: {"listens to kernel_test.Unknown, which nothing declares"},
		16: {"MaxAttempts(0)", "Backoff(0s, 0s)", "listens to kernel_test.Unknown", "nothing provides kernel_test.Mailer"},
		17: {"nil function"},
		18: {"checks string, but the input is uint64"},
	} {
		place := fmt.Sprintf("(kernel/declarations_test.go:%d): ", first+1+line)
		for _, want := range wants {
			found := false
			for l := range strings.Lines(text) {
				found = found || strings.Contains(l, place) && strings.Contains(l, want)
			}
			require.True(t, found, "line %d: %s: %s in\n%s", line, place, want, text)
		}
	}
}

func TestADuplicateAcrossModulesIsReportedWithBothPlaces(t *testing.T) {
	t.Parallel()
	modules := []fx.Option{
		kernel.Module("one", usecase.DeclareAction("test.dup.One", run[Order, none]), events.Declare[Known]("test.dup.Known")),
		kernel.Module("two", kernel.Module("inner", usecase.DeclareAction("test.dup.Two", run[Order, none])), events.Declare[Known]("test.dup.Known2")),
	}
	wants := []string{
		"action test.dup.Two (kernel/declarations_test.go:", "already that of the action test.dup.One (kernel/declarations_test.go:",
		"event test.dup.Known2 (kernel/declarations_test.go:", "already that of the event test.dup.Known (kernel/declarations_test.go:",
	}
	judge := func(how, text string) {
		for _, want := range wants {
			require.Contains(t, text, want, how)
		}
	}
	_, err := kernel.DDL(modules...)
	require.ErrorIs(t, err, kernel.ErrDeclarations)
	judge("DDL", err.Error())
	judge("Distinct", assemble(t, kernel.Distinct(modules...)).Error())
	var out, errs bytes.Buffer
	require.Equal(t, kernel.ExitError, kernel.Run(t.Context(), []string{"schema", "show"}, &out, &errs, modules...))
	judge("Run", errs.String())
	judge("kerneltest", failure(t, func(tb testing.TB) { kerneltest.New(tb, modules...) }))
	err = assemble(t, modules...)
	require.Error(t, err, "plain fx.New stops at the first, and says so in its own words")
	require.Contains(t, err.Error(), "github.com/tidings-go/tidings/kernel_test.", "the type that is provided twice")
	require.Contains(t, err.Error(), "declarations_test.go:", "the place of the second declaration")
}

// failing is a test that may fail without failing the true one.
type failing struct {
	testing.TB
	text string
}

func (f *failing) Fatalf(format string, args ...any) {
	f.text += fmt.Sprintf(format, args...) + "\n" // an outer failure may follow
	runtime.Goexit()
}

// failure returns with what text f fails its test.
func failure(t *testing.T, f func(testing.TB)) string {
	t.Helper()
	fake := &failing{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(fake)
	}()
	<-done
	require.NotEmpty(t, fake.text, "it did not fail")
	return fake.text
}

// Generic, Tagged and their like have names that are hard to find in a drawing
// of the container.
type (
	Generic[T any] struct{ T T }
	Clock          interface{ Now() time.Time }
	Post           struct{ Clock Clock }
	Office         struct{ Post *Post }
)

func newPost(c Clock) *Post { return &Post{c} }

func newOffice(p *Post) *Office { return &Office{p} }

func newClock() Clock { return nil }

func TestAMissingDependencyIsReportedWithItsTrueCause(t *testing.T) {
	t.Parallel()
	type office struct{ Office *Office }
	for want, option := range map[string]fx.Option{
		"field Office of its Deps: nothing provides *kernel_test.Office": usecase.DeclareAction("test.need.A", run[int, office]),
		"*kernel_test.Office is provided by github.com/tidings-go/tidings/kernel_test.newOffice, which lacks something: nothing provides *kernel_test.Post": fx.Options(
			usecase.DeclareAction("test.need.A", run[int, office]), fx.Provide(newOffice)),
		"newOffice, which lacks something: *kernel_test.Post is provided by github.com/tidings-go/tidings/kernel_test.newPost, which lacks something: nothing provides kernel_test.Clock": fx.Options(
			fx.Provide(newPost), usecase.DeclareAction("test.need.A", run[int, office]), fx.Provide(newOffice)),
		"nothing provides *sqlx.DB[name=other]": usecase.DeclareAction("test.need.A", run[int, struct {
			DB *sqlx.DB `name:"other"`
		}]),
		"nothing provides kernel_test.Generic[int]": usecase.DeclareAction("test.need.A", run[int, struct{ G Generic[int] }]),
		"nothing provides func(string) error":       usecase.DeclareAction("test.need.A", run[int, struct{ F func(string) error }]),
		`nothing provides struct { A int "json:\"a\"" }`: usecase.DeclareAction("test.need.A", run[int, struct {
			S struct {
				A int `json:"a"`
			}
		}]),
		"nothing provides kernel_test.Generic[github.com/tidings-go/tidings": usecase.DeclareAction("test.need.A", run[int, struct{ G Generic[Order] }]),
	} {
		err := assemble(t, kernel.Module("test", option))
		require.ErrorIs(t, err, kernel.ErrDeclarations, "%s: %v", want, err)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "action test.need.A (kernel/declarations_test.go:")
	}
}

func TestWhatTheContainerHasIsNotReportedAsMissing(t *testing.T) {
	t.Parallel()
	type s = struct {
		A int `x:"a \\ \" ]"`
	}
	type everything struct {
		fx.In
		Nil       Clock
		Zero      int
		Optional  *Office                       `optional:"true"`
		Optional1 *Office                       `optional:"1"`
		NoHandle  usecase.Usecase[Unknown, int] `optional:"true"`
		Group     []Mailer                      `group:"mailers"`
		Soft      []Mailer                      `group:"mailers,soft"`
		Named     string                        `name:"a name \" ]"`
		DB        *sqlx.DB                      `name:"other"`
		Func      func(int, ...string) (error, map[string]chan<- int)
		Struct    s
		Generic   Generic[map[string]Generic[Order]]
		Lifecycle fx.Lifecycle
		Shutdown  fx.Shutdowner
		Context   fmt.Stringer
	}
	type optionalParams struct {
		fx.In
		Office *Office  `optional:"true"`
		Group  []Mailer `group:"mailers"`
	}
	require.NoError(t, assemble(t, kernel.Module("test",
		usecase.DeclareAction("test.has.A", run[int, everything]),
		fx.Provide(newClock, func() fmt.Stringer { return nil }, func() (f func(int, ...string) (error, map[string]chan<- int)) { return nil }),
		fx.Provide(func(optionalParams) (Generic[map[string]Generic[Order]], s) {
			return Generic[map[string]Generic[Order]]{}, s{}
		}),
		fx.Supply(0),
		fx.Supply(fx.Annotate("", fx.ResultTags(`name:"a name \" ]"`))),
		fx.Provide(fx.Annotate(func() *sqlx.DB { return nil }, fx.ResultTags(`name:"other"`))),
	)))
}

func TestPrivateProvidersServeTheirModuleAlone(t *testing.T) {
	t.Parallel()
	type clock struct{ Clock Clock }
	type post struct{ Post *Post }
	private := fx.Provide(newClock, fx.Private)
	require.NoError(t, assemble(t, kernel.Module("one",
		private, fx.Provide(newPost), usecase.DeclareAction("test.private.A", run[int, clock])),
		kernel.Module("two", usecase.DeclareAction("test.private.B", run[int8, post])),
	))
	err := assemble(t, kernel.Module("one", private), kernel.Module("two", usecase.DeclareAction("test.private.A", run[int, clock])))
	require.ErrorContains(t, err, "kernel_test.Clock", "another module's own")
}

func TestAReplacedDependencyIsFilledWithTheReplacement(t *testing.T) {
	t.Parallel()
	type clock struct{ Clock Clock }
	var got Clock
	k := kerneltest.New(t, kernel.Module("test", fx.Provide(newClock),
		usecase.DeclareAction("test.replace.A", func(_ context.Context, self access.Self[Order, clock]) error {
			got = self.Deps.Clock
			return nil
		})), kerneltest.Replace[Clock](fixed{}))
	require.NoError(t, kerneltest.Get[usecase.Action[Order]](k).Execute(t.Context(), Order{}))
	require.Equal(t, fixed{}, got)
}

type fixed struct{}

func (fixed) Now() time.Time { return time.Time{} }

func TestNoMistakeOfTheCallerPanics(t *testing.T) {
	t.Parallel()
	for name, option := range map[string]func() fx.Option{
		"Delivery(nil)":              func() fx.Option { return kernel.Delivery(nil) },
		"Command(nil)":               func() fx.Option { return kernel.Command(nil) },
		"Database(nil)":              func() fx.Option { return kernel.Database(nil) },
		"Logger(nil)":                func() fx.Option { return kernel.Logger(nil) },
		"Registry(nil)":              func() fx.Option { return kernel.Registry(nil) },
		"Schema of nothing":          func() fx.Option { return kernel.Schema("") },
		"two schemas":                func() fx.Option { return fx.Options(kernel.Schema("a"), kernel.Schema("b")) },
		"a schema's name too long":   func() fx.Option { return kernel.Schema(strings.Repeat("x", 64)) },
		"a schema's name with NUL":   func() fx.Option { return kernel.Schema("a\x00") },
		"an event's name too long":   func() fx.Option { return events.Declare[Known]("test."+strings.Repeat("x", 64), events.Recorded()) },
		"a namespace too long":       func() fx.Option { return events.Declare[Known](strings.Repeat("x", 64)+".A", events.Recorded()) },
		"Deps that embed a pointer":  func() fx.Option { return usecase.DeclareAction("a.B", run[int, struct{ *Post }]) },
		"Deps with an fx.Out":        func() fx.Option { return usecase.DeclareAction("a.B", run[int, struct{ Out struct{ fx.Out } }]) },
		"Deps with a pointer to In":  func() fx.Option { return usecase.DeclareAction("a.B", run[int, struct{ In *struct{ fx.In } }]) },
		"an error among the Deps":    func() fx.Option { return usecase.DeclareAction("a.B", run[int, struct{ E error }]) },
		"handles behind a pointer":   func() fx.Option { return usecase.DeclareAction("a.B", run[int, struct{ U *usecase.Action[Order] }]) },
		"an interface as a listener": func() fx.Option { return events.Sync("a.B", listen[any, none]) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NotPanics(t, func() {
				err := assemble(t, option())
				require.Error(t, err)
				require.NotContains(t, err.Error(), "panic")
			})
			require.NotPanics(t, func() {
				var out bytes.Buffer
				require.Equal(t, kernel.ExitError, kernel.Run(t.Context(), []string{"schema", "show"}, &out, &out, option()), out.String())
			})
		})
	}
}

func TestNilAndZeroOptionsAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, option := range []fx.Option{
		kernel.Module("test", nil, kernel.Option{}, kernel.Module("inner", nil)), kernel.Distinct(nil, kernel.Option{}),
		usecase.DeclareAction("a.B", run[int, none], nil), events.Declare[Known]("a.C", nil), events.Declare[Known]("a.C", events.Mapped(nil)),
	} {
		require.NotPanics(t, func() { require.NoError(t, assemble(t, option)) })
		_, err := kernel.DDL(option, nil, kernel.Option{})
		require.NoError(t, err)
	}
	require.NotPanics(t, func() {
		require.NoError(t, fx.New(fx.NopLogger, kernel.Options(kernel.Option{}, kernel.Database(nowhere(t)))).Err())
	})
}

func TestAPanicInAnOperationOfTheAppCrossesNoHandle(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	k := kerneltest.New(t, kernel.Module("test",
		usecase.DeclareAction("test.panic.A", func(context.Context, access.Self[Order, none]) error { panic(cause) })))
	require.NotPanics(t, func() {
		err := kerneltest.Get[usecase.Action[Order]](k).Execute(t.Context(), Order{})
		require.ErrorIs(t, err, cause)
		require.Regexp(t, regexp.MustCompile(`^test\.panic\.A \(kernel/declarations_test\.go:\d+\): panic: cause$`), err.Error())
	})
}
