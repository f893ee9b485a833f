package usecase_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/kernel/kerneltest"
	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/usecase"
)

type none = struct{}

// session is what a transaction says of itself.
type session struct{ pid, xid int64 }

func sessionOf(ctx context.Context, tx access.Tx) (s session, err error) {
	err = tx.QueryRowxContext(ctx, `SELECT pg_backend_pid(), pg_current_xact_id()::text::bigint`).Scan(&s.pid, &s.xid)
	return s, err
}

const note = `INSERT INTO note (text) VALUES ($1)`

// start starts an app with a table of notes on a pool of one connection: no
// usecase may ever need a second one. Deferred listeners are not run.
func start(t *testing.T, opts ...fx.Option) *kerneltest.Kernel {
	t.Helper()
	k := kerneltest.New(t, append(opts, kernel.PublishOnly(), kernel.DevSchema(`CREATE TABLE note (text text PRIMARY KEY)`))...)
	k.DB().SetMaxOpenConns(1)
	return k
}

func notes(t *testing.T, k *kerneltest.Kernel) (all []string) {
	t.Helper()
	for start := time.Now(); k.DB().Stats().InUse > 0; runtime.Gosched() { // a statement may be prepared aside
		require.Less(t, time.Since(start), time.Minute, "a connection did not come back")
	}
	require.NoError(t, k.DB().Select(&all, `SELECT text FROM note ORDER BY text`))
	return all
}

func TestUsecaseServiceEmitAndSyncListenerShareOneConnection(t *testing.T) {
	t.Parallel()
	type (
		Outer   struct{}
		Inner   struct{}
		Deepest struct{}
		Ask     struct{}
		Done    struct{ N int }
		deepest struct{ Done events.Emitter[Done] }
		inner   struct {
			Deepest usecase.Action[Deepest]
			Ask     usecase.Service[Ask, session]
		}
		outer struct {
			Inner usecase.Usecase[Inner, []session]
		}
		listen struct{ Ask usecase.Service[Ask, session] }
	)
	var heard session
	k := start(t, kernel.Module("test",
		events.Declare[Done]("test.one.Done"),
		events.Deferred("test.one.Later", func(context.Context, events.Self[Done, none]) error { return nil }),
		events.Sync("test.one.Hear", func(ctx context.Context, self events.Self[Done, listen]) (err error) {
			heard, err = self.Deps.Ask.Call(ctx, Ask{})
			return errors.Join(err, self.Tx.ExecOne(ctx, note, "sync"))
		}),
		usecase.DeclareService("test.one.Ask", func(ctx context.Context, self access.Self[Ask, none]) (session, error) {
			return sessionOf(ctx, self.Tx)
		}),
		usecase.DeclareAction("test.one.Deepest", func(ctx context.Context, self access.Self[Deepest, deepest]) error {
			return errors.Join(self.Tx.ExecOne(ctx, note, "deepest"), self.Deps.Done.Emit(ctx, Done{1}))
		}),
		usecase.Declare("test.one.Inner", func(ctx context.Context, self access.Self[Inner, inner]) ([]session, error) {
			mine, err1 := sessionOf(ctx, self.Tx)
			asked, err2 := self.Deps.Ask.Call(ctx, Ask{})
			return []session{mine, asked}, errors.Join(err1, err2, self.Deps.Deepest.Execute(ctx, Deepest{}))
		}),
		usecase.Declare("test.one.Outer", func(ctx context.Context, self access.Self[Outer, outer]) ([]session, error) {
			all, err1 := self.Deps.Inner.Execute(ctx, Inner{})
			mine, err2 := sessionOf(ctx, self.Tx)
			return append(all, mine), errors.Join(err1, err2)
		}),
	))
	all, err := kerneltest.Get[usecase.Usecase[Outer, []session]](k).Execute(t.Context(), Outer{})
	require.NoError(t, err)
	for _, s := range append(all, heard) {
		require.Equal(t, all[0], s)
	}
	require.NotZero(t, heard)
	require.Equal(t, []string{"deepest", "sync"}, notes(t, k))
	var jobs int
	require.NoError(t, k.DB().Get(&jobs, `SELECT count(*) FROM tidings.jobs`))
	require.Equal(t, 1, jobs)
}

func TestAReadOnlyUsecaseCanNeitherWriteNorEmit(t *testing.T) {
	t.Parallel()
	type (
		Look  struct{ Write, Emit bool }
		Seen  struct{ N int }
		looks struct{ Seen events.Emitter[Seen] }
		Work  struct{ Emit bool }
		works struct{ Look usecase.Action[Look] }
	)
	k := start(t, kernel.Module("test",
		events.Declare[Seen]("test.read.Seen", events.Recorded()),
		usecase.DeclareAction("test.read.Look", func(ctx context.Context, self access.Self[Look, looks]) error {
			if self.Input.Write {
				return self.Tx.ExecOne(ctx, note, "look")
			}
			if self.Input.Emit {
				return self.Deps.Seen.Emit(ctx, Seen{1})
			}
			return self.Tx.GetContext(ctx, new(int), `SELECT count(*) FROM note`)
		}, usecase.ReadOnly()),
		usecase.DeclareAction("test.read.Work", func(ctx context.Context, self access.Self[Work, works]) error {
			return errors.Join(self.Tx.ExecOne(ctx, note, "work"), self.Deps.Look.Execute(ctx, Look{Emit: self.Input.Emit}))
		}),
	))
	look := kerneltest.Get[usecase.Action[Look]](k)
	require.NoError(t, look.Execute(t.Context(), Look{}))
	require.Equal(t, "25006", persistence.SQLState(look.Execute(t.Context(), Look{Write: true})))
	require.ErrorIs(t, look.Execute(t.Context(), Look{Emit: true}), persistence.ErrReadOnly)
	work := kerneltest.Get[usecase.Action[Work]](k)
	require.ErrorIs(t, work.Execute(t.Context(), Work{Emit: true}), persistence.ErrReadOnly, "a participant that declared itself read-only")
	require.Empty(t, notes(t, k))
	require.NoError(t, work.Execute(t.Context(), Work{}))
	require.Equal(t, []string{"work"}, notes(t, k))
	var stored int
	require.NoError(t, k.DB().Get(&stored, `SELECT count(*) FROM "test.read"."@event:Seen"`))
	require.Zero(t, stored)
}

// TestAParticipantThatAsksForMoreThanTheTransactionHasIsRefused calls through a
// service, whose callers the boot cannot know.
func TestAParticipantThatAsksForMoreThanTheTransactionHasIsRefused(t *testing.T) {
	t.Parallel()
	type (
		Write  struct{}
		Strict struct{}
		Pass   struct{ Strict bool }
		Read   struct{}
		Loose  struct{ Swallow bool }
		passes struct {
			Write  usecase.Action[Write]
			Strict usecase.Action[Strict]
		}
		through struct{ Pass usecase.Service[Pass, none] }
	)
	nothing := func(context.Context, access.Self[Write, none]) error { return nil }
	k := start(t, kernel.Module("test",
		usecase.DeclareAction("test.more.Write", nothing),
		usecase.DeclareAction("test.more.Strict", func(context.Context, access.Self[Strict, none]) error { return nil },
			usecase.Isolation(sql.LevelSerializable)),
		usecase.DeclareService("test.more.Pass", func(ctx context.Context, self access.Self[Pass, passes]) (none, error) {
			if self.Input.Strict {
				return none{}, self.Deps.Strict.Execute(ctx, Strict{})
			}
			return none{}, self.Deps.Write.Execute(ctx, Write{})
		}),
		usecase.DeclareAction("test.more.Read", func(ctx context.Context, self access.Self[Read, through]) error {
			_, err := self.Deps.Pass.Call(ctx, Pass{})
			return err
		}, usecase.ReadOnly()),
		usecase.DeclareAction("test.more.Loose", func(ctx context.Context, self access.Self[Loose, through]) error {
			_, err := self.Deps.Pass.Call(ctx, Pass{Strict: true})
			if self.Input.Swallow {
				return self.Tx.ExecOne(ctx, note, "loose")
			}
			return err
		}),
	))
	require.ErrorIs(t, kerneltest.Get[usecase.Action[Read]](k).Execute(t.Context(), Read{}), persistence.ErrIncompatible)
	loose := kerneltest.Get[usecase.Action[Loose]](k)
	require.ErrorIs(t, loose.Execute(t.Context(), Loose{}), persistence.ErrIncompatible)
	require.NoError(t, loose.Execute(t.Context(), Loose{Swallow: true}), "nothing was run that could be half done")
	require.NoError(t, kerneltest.Get[usecase.Action[Strict]](k).Execute(t.Context(), Strict{}))
	require.Equal(t, []string{"loose"}, notes(t, k))
}

// End says how an operation ends after it has written.
type End string

const (
	ByError  End = "error"
	ByPanic  End = "panic"
	ByGoexit End = "Goexit"
	ByCancel End = "cancel"
	ByNil    End = "nil"
)

var errEnd = errors.New("the operation's own error")

func (e End) now(cancel func()) error {
	switch e {
	case ByError:
		return errEnd
	case ByPanic:
		panic(errEnd)
	case ByGoexit:
		runtime.Goexit()
	case ByCancel:
		cancel()
	}
	return nil
}

type cancelKey struct{}

func cancelOf(ctx context.Context) func() {
	f, _ := ctx.Value(cancelKey{}).(context.CancelFunc)
	return f
}

// guarded runs f on a goroutine of its own, which it may end.
func guarded(f func()) {
	var wg sync.WaitGroup
	wg.Go(f)
	wg.Wait()
}

func TestHoweverAUsecaseEndsNothingOfItStaysAndTheConnectionComesBack(t *testing.T) {
	t.Parallel()
	type Work struct{ End End }
	k := start(t, kernel.Module("test",
		usecase.Declare("test.end.Work", func(ctx context.Context, self access.Self[Work, none]) (int, error) {
			if err := self.Tx.ExecOne(ctx, note, "half done"); err != nil {
				return 1, err
			}
			return 1, self.Input.End.now(cancelOf(ctx))
		}),
	))
	work := kerneltest.Get[usecase.Usecase[Work, int]](k)
	for _, end := range []End{ByError, ByPanic, ByGoexit, ByCancel} {
		var out int
		err := errors.New("did not return")
		guarded(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out, err = work.Execute(context.WithValue(ctx, cancelKey{}, cancel), Work{end})
		})
		require.Error(t, err, end)
		require.Zero(t, out, "%s: on error the output is the zero value", end)
		require.NotErrorIs(t, err, persistence.ErrUnknownOutcome, end)
		if end == ByError || end == ByPanic {
			require.ErrorIs(t, err, errEnd)
			var op *access.OperationError
			require.ErrorAs(t, err, &op)
			require.Equal(t, "test.end.Work", op.Identity)
			require.Contains(t, err.Error(), "usecase/transaction_test.go:")
		}
		var p *access.PanicError
		require.Equal(t, end == ByPanic, errors.As(err, &p), end)
		require.Empty(t, notes(t, k), end)
	}
	out, err := work.Execute(t.Context(), Work{ByNil})
	require.NoError(t, err)
	require.Equal(t, 1, out)
	require.Equal(t, []string{"half done"}, notes(t, k))
}

func TestASwallowedFailureInsideRollsTheOwnerBack(t *testing.T) {
	t.Parallel()
	type (
		Inner   struct{ End End }
		Service struct{ End End }
		Outer   struct {
			End     End
			Service bool
		}
		outer struct {
			Inner   usecase.Action[Inner]
			Service usecase.Service[Service, int]
		}
	)
	k := start(t, kernel.Module("test",
		usecase.DeclareAction("test.swallow.Inner", func(ctx context.Context, self access.Self[Inner, none]) error {
			return errors.Join(self.Tx.ExecOne(ctx, note, "inner"), self.Input.End.now(nil))
		}),
		usecase.DeclareService("test.swallow.Service", func(ctx context.Context, self access.Self[Service, none]) (int, error) {
			return 0, errors.Join(self.Tx.ExecOne(ctx, note, "service"), self.Input.End.now(nil))
		}),
		usecase.DeclareAction("test.swallow.Outer", func(ctx context.Context, self access.Self[Outer, outer]) error {
			guarded(func() {
				if self.Input.Service {
					_, _ = self.Deps.Service.Call(ctx, Service{self.Input.End})
				} else {
					_ = self.Deps.Inner.Execute(ctx, Inner{self.Input.End})
				}
			})
			return self.Tx.ExecOne(ctx, note, fmt.Sprint("outer ", self.Input.End))
		}),
	))
	outerOf := kerneltest.Get[usecase.Action[Outer]](k)
	for _, in := range []Outer{{ByError, false}, {ByPanic, false}, {ByGoexit, false}, {ByPanic, true}, {ByGoexit, true}} {
		err := outerOf.Execute(t.Context(), in)
		require.ErrorIs(t, err, persistence.ErrRollbackOnly, "%+v", in)
		if in.End != ByGoexit {
			require.ErrorIs(t, err, errEnd, "%+v", in)
		}
		require.Empty(t, notes(t, k), "%+v", in)
	}
	require.NoError(t, outerOf.Execute(t.Context(), Outer{ByError, true}), "a service's error is its caller's to judge")
	require.Equal(t, []string{"outer error", "service"}, notes(t, k))
}

func TestEndlessRecursionOfUsecasesEndsWithErrDepth(t *testing.T) {
	t.Parallel()
	type (
		Again struct{ N int }
		again struct{ Again usecase.Action[Again] }
	)
	k := start(t, kernel.Module("test",
		usecase.DeclareAction("test.depth.Again", func(ctx context.Context, self access.Self[Again, again]) error {
			return self.Deps.Again.Execute(ctx, Again{self.Input.N + 1})
		}),
	))
	err := kerneltest.Get[usecase.Action[Again]](k).Execute(t.Context(), Again{})
	require.ErrorIs(t, err, access.ErrDepth)
	require.Less(t, len(err.Error()), 4096, "the error does not repeat each of 256 levels")
	require.Empty(t, notes(t, k))
}
