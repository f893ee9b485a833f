package events_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/kernel/kerneltest"
	"github.com/tidings-go/tidings/persistence"
)

// assembled says what keeps an app from being assembled; it needs no database.
func assembled(t *testing.T, opts ...fx.Option) error {
	t.Helper()
	pool, err := sqlx.Open("postgres", "postgres://nobody@127.0.0.1:1/nothing")
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	return fx.New(append(opts, kernel.Options(kernel.Database(pool)), fx.NopLogger)...).Err()
}

func TestMistakesOfStorageAreReportedAtBootTogetherWithTheirPlaces(t *testing.T) {
	t.Parallel()
	type bad struct {
		A []map[string]func()
		B Zip
		C map[string]any
	}
	type other struct{ N int }
	err := assembled(t,
		kernel.Module("one",
			events.Declare[bad]("test.app.Bad"),
			persistence.Enum(map[Size]string{Small: "x", Large: "x"}),
			events.Declare[other](strings.Repeat("n", 70)+".Other"),
			events.Deferred("test.app.Take", listen[Fact]),
		),
		kernel.Module("two",
			events.Declare[Fact]("test.app.X", events.Recorded()),
			events.Declare[none]("test.app.X_pkey", events.Recorded()),
			persistence.Codec(func(t text) string { return string(t) }, func(s string) (text, error) { return text(s), nil }),
			persistence.Enum(map[text]string{"a": "b"}),
		),
	)
	require.ErrorIs(t, err, kernel.ErrDeclarations)
	text := regexp.MustCompile(`_test\.go:\d+`).ReplaceAllString(err.Error(), "_test.go:N")
	for _, want := range []string{
		"event test.app.Bad (events/plans_test.go:N): events_test.bad: A[][]: type cannot be mapped: func() is not supported",
		"event test.app.Bad (events/plans_test.go:N): events_test.bad: B: type cannot be mapped: events_test.Zip has unexported fields: digits; register a codec for it with persistence.Codec",
		"event test.app.Bad (events/plans_test.go:N): events_test.bad: C[]: type cannot be mapped: interface {} is not supported",
		"enum of events_test.Size (events/plans_test.go:N): type cannot be mapped: two values have the same code",
		"Other (events/plans_test.go:N): invalid schema model: schema \"" + strings.Repeat("n", 70) + "\": name",
		"its type is already that of the",
		"codec of events_test.text (events/plans_test.go:N)",
		"enum of events_test.text (events/plans_test.go:N)",
		`event test.app.X_pkey (events/plans_test.go:N): its table "test.app"."@event:X_pkey" has the name of a primary key of the event test.app.X (events/plans_test.go:N): give one of the events another name`,
	} {
		require.Contains(t, text, want)
	}
}

type text string

func TestTheOrderOfRegistrationsAndEventsMeansNothing(t *testing.T) {
	t.Parallel()
	parts := []fx.Option{parcels(), zipCodec(), sizeEnum()}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
		require.NoError(t, assembled(t, kernel.Module("m", parts[order[0]], parts[order[1]], parts[order[2]])))
		require.NoError(t, assembled(t, kernel.Module("a", parts[order[0]]), kernel.Module("b", parts[order[1]]), kernel.Module("c", parts[order[2]])))
	}
	err := assembled(t, kernel.Module("m", parcels()), kernel.Module("other app's", sizeEnum()))
	require.ErrorContains(t, err, "Zip has unexported fields")
}

// Declarations stand in package variables: what one app registers must not change
// another.
func TestTwoAppsMayStoreOneTypeInTwoWays(t *testing.T) {
	t.Parallel()
	declared := parcels()
	type parts struct{ Area, Place string }
	inParts := persistence.Codec(
		func(z Zip) parts { return parts{z.digits[:2], z.digits[2:]} },
		func(p parts) (Zip, error) { return newZip(p.Area + p.Place) })
	numbers := persistence.Enum(map[Size]string{Small: "1", Large: "2"})
	for want, registrations := range map[string]fx.Option{
		`"To" || ' ' || "Size" = '12345 L'`:                            fx.Options(zipCodec(), sizeEnum()),
		`"To.Area" || ' ' || "To.Place" || ' ' || "Size" = '12 345 2'`: fx.Options(inParts, numbers),
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			a := app{kerneltest.New(t, do[Parcel](), declared, registrations, kernel.PublishOnly()), t}
			p, id := parcel(), uuid.New()
			require.NoError(t, a.emitParcel(p, events.ID(id)))
			require.Equal(t, 1, a.count(`"test.app"."@event:Parcel" WHERE `+want))
			entry, err := kerneltest.Get[events.History[Parcel]](a.Kernel).Get(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, p, entry.Event)
		})
	}
}

// A constructor that became stricter fails what was stored before, as its own
// kind, and hides nothing else.
func TestAStricterConstructorFailsOldEventsAlone(t *testing.T) {
	t.Parallel()
	strict := false
	errStrict := errors.New("no zip begins with 9 any more")
	codec := persistence.Codec(Zip.row, func(digits string) (Zip, error) {
		if strict && strings.HasPrefix(digits, "9") {
			return Zip{}, errStrict
		}
		return newZip(digits)
	})
	a := app{kerneltest.New(t, do[Parcel](), sizeEnum(), codec, parcels(), kernel.PublishOnly()), t}
	old, id := parcel(), uuid.New()
	old.To = Zip{"98765"}
	require.NoError(t, a.emitParcel(old, events.ID(id)))
	require.NoError(t, a.emitParcel(parcel()))
	strict = true
	history := kerneltest.Get[events.History[Parcel]](a.Kernel)
	entry, err := history.Get(t.Context(), id)
	require.ErrorIs(t, err, events.ErrRebuild)
	require.ErrorIs(t, err, errStrict)
	require.ErrorContains(t, err, "To: value cannot be rebuilt")
	require.Zero(t, entry.Event)
	page, err := history.List(t.Context(), events.Query{})
	require.NoError(t, err)
	require.Len(t, page.Entries, 2)
	require.ErrorIs(t, page.Entries[0].Err, errStrict)
	require.NoError(t, page.Entries[1].Err)
	require.ErrorIs(t, a.emitParcel(old, events.ID(id)), errStrict, "nor can it be emitted")
}

// The keys of a part serve the lookups by event; only what an app asks for is
// indexed beyond them.
func TestEventTablesHaveNoIndexButTheirKeys(t *testing.T) {
	t.Parallel()
	a := startParcel(t, parcels(events.Indexed(events.ByOccurred), events.Indexed(events.ByRecorded)), kernel.PublishOnly())
	var indexes []string
	require.NoError(t, a.DB().SelectContext(context.Background(), &indexes, `SELECT replace(regexp_replace(indexdef, '^.* USING btree ', ''), '"', '') FROM pg_indexes
		WHERE schemaname = 'test.app' ORDER BY 1`))
	require.Equal(t, []string{
		"(@event, @key)",
		"(@event, @position)",
		"(@event, @position:Items, @position)",
		"(@event, @value)",
		"(@occurredAt, @nanos:@occurredAt, id)",
		"(@recordedAt, id)",
		"(id)",
	}, indexes)
	require.ErrorContains(t, problemsOf(events.Declare[Fact]("a.B", events.Indexed(7))), "events.Indexed: unknown order 7")
}
