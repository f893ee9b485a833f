package events_test

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
)

type none = struct{}

func listen[E any](context.Context, events.Self[E, none]) error { return nil }

func policyOf(t require.TestingT, opts ...events.ListenerOption) (events.Policy, error) {
	l := events.Deferred("a.b.C", listen[none], opts...).Declared.(*events.Listener)
	return l.Policy(), errors.Join(l.Declaration().Check()...)
}

func TestTheDefaultPolicyIsTheDocumentedOne(t *testing.T) {
	t.Parallel()
	p, err := policyOf(t)
	require.NoError(t, err)
	require.Equal(t, events.Policy{MaxAttempts: 10, BackoffFirst: time.Second, BackoffMax: 10 * time.Minute, TimeLimit: 30 * time.Second}, p)
}

func TestWaitsDoubleUpToTheLongestWithinTheirJitter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first := time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "first"))
		longest := time.Duration(rapid.Int64Range(int64(first), int64(365*24*time.Hour)).Draw(t, "longest"))
		p, err := policyOf(t, events.Backoff(first, longest))
		require.NoError(t, err)
		base := float64(first)
		for attempt := 1; attempt <= 1000; attempt++ {
			if attempt > 70 && attempt < 1000 {
				continue // as the last one, which is slow to compute under the race detector
			}
			wait := float64(p.Wait(attempt))
			require.GreaterOrEqual(t, wait, math.Floor(base*0.8), "attempt %d", attempt)
			require.LessOrEqual(t, wait, math.Ceil(base*1.2)+1, "attempt %d", attempt)
			base = min(2*base, float64(longest))
		}
	})
}

func TestWaitsAreSpread(t *testing.T) {
	t.Parallel()
	p, err := policyOf(t)
	require.NoError(t, err)
	seen := map[time.Duration]bool{}
	for range 50 {
		seen[p.Wait(5)] = true
	}
	require.Greater(t, len(seen), 10, "jobs that failed together must not come back together")
	require.Positive(t, p.Wait(0), "an attempt that never was")
	require.Positive(t, p.Wait(math.MinInt))
	require.Positive(t, p.Wait(math.MaxInt))
}

func TestOptionsOfListenersThatDoNotFitAreProblemsOfTheDeclaration(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]events.ListenerOption{
		"events.MaxAttempts(0)":               events.MaxAttempts(0),
		"events.MaxAttempts(-1)":              events.MaxAttempts(-1),
		"events.Backoff(0s, 1s)":              events.Backoff(0, time.Second),
		"events.Backoff(-1s, 1s)":             events.Backoff(-time.Second, time.Second),
		"events.Backoff(2s, 1s)":              events.Backoff(2*time.Second, time.Second),
		"events.Backoff(1s, 8760h0m0.0000000": events.Backoff(time.Second, 365*24*time.Hour+1),
		"events.Backoff(1s, 2562047h47m16.":   events.Backoff(time.Second, math.MaxInt64),
		"events.TimeLimit(0s)":                events.TimeLimit(0),
		"events.TimeLimit(999.999µs)":         events.TimeLimit(time.Millisecond - 1),
		"events.TimeLimit(24h0m0.000000001s)": events.TimeLimit(24*time.Hour + 1),
		"no isolation level Linearizable":     events.Isolation(sql.LevelLinearizable),
	} {
		_, err := policyOf(t, o)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "deferred listener a.b.C (events/policy_test.go:")
	}
	_, err := policyOf(t, events.MaxAttempts(0), nil, events.TimeLimit(0))
	require.ErrorContains(t, err, "MaxAttempts")
	require.ErrorContains(t, err, "TimeLimit", "all problems at once")
	p, err := policyOf(t, events.MaxAttempts(1), events.Backoff(1, 1), events.TimeLimit(24*time.Hour), events.Isolation(sql.LevelSerializable))
	require.NoError(t, err)
	require.Equal(t, events.Policy{MaxAttempts: 1, BackoffFirst: 1, BackoffMax: 1, TimeLimit: 24 * time.Hour, Isolation: sql.LevelSerializable}, p)
}

// problemsOf is what an app with this one declaration would report.
func problemsOf(o access.Option) error {
	problems := o.Declared.Declaration().Check()
	if typ, ok := o.Declared.(*events.Type); ok {
		problems = append(problems, events.NewPlans().Check([]*events.Type{typ})...)
	}
	return errors.Join(problems...)
}

func TestDeclarationsOfEventsAndListenersTellTheirProblems(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]access.Option{
		"malformed identity":                 events.Declare[none]("Moved"),
		"an event is a plain struct":         events.Declare[int]("a.B"),
		"struct, not *struct {}":             events.Declare[*none]("a.B"),
		"struct, not interface {}":           events.Declare[any]("a.B"),
		"A.B":                                events.Declare[struct{ A struct{ B chan int } }]("a.B"),
		access.ErrNilFunction.Error():        events.Sync[none, none]("a.B", nil),
		"synchronous listener":               events.Sync("B", listen[none]),
		"deferred listener":                  events.Deferred[none, none]("a.B", nil),
		"its Deps are int":                   events.Sync("a.B", func(context.Context, events.Self[none, int]) error { return nil }),
		"an event is a plain struct, not fu": events.Declare[func()]("a.B", nil, events.Mapped(), events.Recorded()),
	} {
		err := problemsOf(o)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "(events/policy_test.go:", "the place of the declaration")
	}
	err := problemsOf(events.Declare[struct {
		A func()
		B struct{ C any }
	}]("B"))
	for _, want := range []string{"malformed", ": A:", "B.C"} {
		require.ErrorContains(t, err, want, "all problems at once")
	}
}
