package events_test

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/kernel/kerneltest"
	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/usecase"
)

type (
	// Size is an enum, Zip a value object.
	Size int
	Zip  struct{ digits string }
	Item struct {
		Note  string
		Tags  []string
		Price *decimal.Decimal
	}
	Parcel struct {
		To    Zip
		Size  Size
		Items []Item
		Fees  map[string]int64
		Via   map[Zip]struct{}
		Note  string
	}
)

const (
	Small Size = iota
	Large
)

func newZip(digits string) (Zip, error) {
	if len(digits) != 5 {
		return Zip{}, fmt.Errorf("zip %q has no five digits", digits)
	}
	return Zip{digits}, nil
}

func (z Zip) row() string { return z.digits }

func zipCodec() fx.Option { return persistence.Codec(Zip.row, newZip) }
func sizeEnum() fx.Option { return persistence.Enum(map[Size]string{Small: "S", Large: "L"}) }

func parcel() Parcel {
	price := decimal.New(150, -2)
	return Parcel{
		To: Zip{"12345"}, Size: Large, Note: "n",
		Items: []Item{{"a", []string{"x", "y"}, &price}, {"b", nil, nil}},
		Fees:  map[string]int64{"toll": 3, "": 0},
		Via:   map[Zip]struct{}{{"54321"}: {}, {"11111"}: {}},
	}
}

// startParcel runs an app in which Parcel is declared.
func startParcel(t *testing.T, opts ...fx.Option) app {
	t.Helper()
	return app{kerneltest.New(t, append([]fx.Option{do[Parcel](), sizeEnum(), zipCodec()}, opts...)...), t}
}

func parcels(opts ...events.TypeOption) fx.Option {
	return events.Declare[Parcel]("test.app.Parcel", append(opts, events.Recorded())...)
}

func (a app) send(ctx context.Context, work func(context.Context, access.Tx, events.Emitter[Parcel]) error) error {
	return kerneltest.Get[usecase.Action[Do[Parcel]]](a.Kernel).Execute(ctx, Do[Parcel]{work})
}

func (a app) emitParcel(p Parcel, opts ...events.EmitOption) error {
	return a.send(a.t.Context(), func(ctx context.Context, _ access.Tx, e events.Emitter[Parcel]) error { return e.Emit(ctx, p, opts...) })
}

// parcelTables are the tables of Parcel with the number of rows of parcel().
var parcelTables = map[string]int{"": 1, ".Items": 2, ".Items.Tags": 2, ".Fees": 2, ".Via": 2}

func (a app) parcelRows() map[string]int {
	rows := map[string]int{}
	for table := range parcelTables {
		rows[table] = a.count(fmt.Sprintf(`"test.app"."@event:Parcel%s"`, table))
	}
	return rows
}

func TestListsMapsAndValueObjectsAreStoredTypedAndDelivered(t *testing.T) {
	t.Parallel()
	got := make(chan Parcel, 10)
	a := startParcel(t, parcels(), events.Deferred("test.app.Take", func(_ context.Context, self events.Self[Parcel, none]) error {
		got <- self.Event
		return nil
	}))
	bare := Parcel{To: Zip{"00000"}, Items: []Item{}}
	require.NoError(t, a.emitParcel(parcel()))
	require.NoError(t, a.emitParcel(bare))
	a.Drain()
	require.ElementsMatch(t, []Parcel{parcel(), bare}, []Parcel{<-got, <-got})
	require.Equal(t, parcelTables, func() map[string]int { rows := a.parcelRows(); rows[""]--; return rows }())

	var notes []string
	require.NoError(t, a.DB().Select(&notes, `SELECT i."Note" || ' ' || t."@value" FROM "test.app"."@event:Parcel" AS p
		JOIN "test.app"."@event:Parcel.Items" AS i ON i."@event" = p.id
		JOIN "test.app"."@event:Parcel.Items.Tags" AS t ON t."@event" = p.id AND t."@position:Items" = i."@position"
		WHERE p."Size" = 'L' AND p."To" = '12345' ORDER BY t."@position"`))
	require.Equal(t, []string{"a x", "a y"}, notes, "anyone can query events")
}

func TestTheSameListsAreTheSameEventAndOthersAConflict(t *testing.T) {
	t.Parallel()
	a := startParcel(t, parcels(), events.Deferred("test.app.Take", listen[Parcel]), kernel.PublishOnly())
	id := uuid.New()
	for range 5 { // maps have no order
		require.NoError(t, a.emitParcel(parcel(), events.ID(id)))
	}
	require.Equal(t, parcelTables, a.parcelRows())
	require.Equal(t, 1, a.count(jobs))
	for name, change := range map[string]func(*Parcel){
		"shorter list":  func(p *Parcel) { p.Items = p.Items[:1] },
		"longer list":   func(p *Parcel) { p.Items = append(p.Items, Item{}) },
		"nil list":      func(p *Parcel) { p.Items = nil },
		"inner element": func(p *Parcel) { p.Items[0].Tags = []string{"x", "z"} },
		"inner order":   func(p *Parcel) { p.Items[0].Tags = []string{"y", "x"} },
		"empty for nil": func(p *Parcel) { p.Items[1].Tags = []string{} },
		"exponent":      func(p *Parcel) { d := decimal.New(15, -1); p.Items[0].Price = &d },
		"map value":     func(p *Parcel) { p.Fees["toll"] = 4 },
		"map key":       func(p *Parcel) { delete(p.Fees, ""); p.Fees["x"] = 0 },
		"set":           func(p *Parcel) { p.Via[Zip{"99999"}] = struct{}{} },
		"enum":          func(p *Parcel) { p.Size = Small },
		"value object":  func(p *Parcel) { p.To = Zip{"12346"} },
	} {
		other := parcel()
		change(&other)
		require.ErrorIs(t, a.emitParcel(other, events.ID(id)), events.ErrEventConflict, name)
	}
	require.Equal(t, parcelTables, a.parcelRows(), "nothing was overwritten or added")
}

// The loser of a race sees the winner's lists, not half of them.
func TestRacingPublishersOfListsMakeOneEvent(t *testing.T) {
	t.Parallel()
	a := startParcel(t, parcels(), events.Deferred("test.app.Take", listen[Parcel]), kernel.PublishOnly())
	for range 10 {
		id := uuid.New()
		results := make(chan error, 6)
		for i := range cap(results) {
			p := parcel()
			if i%3 == 2 {
				p.Items[0].Tags = []string{"other"}
			}
			go func() { results <- a.emitParcel(p, events.ID(id)) }()
		}
		conflicts := 0
		for range cap(results) {
			if err := <-results; err != nil {
				require.ErrorIs(t, err, events.ErrEventConflict)
				conflicts++
			}
		}
		require.Contains(t, []int{2, 4}, conflicts, "either kind may win")
	}
	require.Equal(t, 10, a.count(jobs))
	require.Equal(t, 10, a.count(`"test.app"."@event:Parcel"`))
}

func TestWhatCannotBeStoredIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	a := startParcel(t, parcels(), events.Deferred("test.app.Take", listen[Parcel]), kernel.PublishOnly())
	for want, change := range map[string]func(*Parcel){
		"Items[1].Note: value cannot be stored: text has NUL":        func(p *Parcel) { p.Items[1].Note = "\x00" },
		"Items[0].Tags[1]: value cannot be stored: text is not":      func(p *Parcel) { p.Items[0].Tags[1] = "\xff" },
		`Fees[key "\x00"]: value cannot be stored`:                   func(p *Parcel) { p.Fees["\x00"] = 1 },
		`Size: value cannot be stored: "7" is no declared value`:     func(p *Parcel) { p.Size = 7 },
		`To: value cannot be stored: its codec does not take back`:   func(p *Parcel) { p.To = Zip{} },
		`Via["{1}"]: value cannot be stored: its codec does not`:     func(p *Parcel) { p.Via[Zip{"1"}] = struct{}{} },
		"Items[1].Price: value cannot be stored: number is too long": func(p *Parcel) { d := decimal.New(1, 200_000); p.Items[1].Price = &d },
	} {
		p := parcel()
		change(&p)
		var refused error
		require.NoError(t, a.send(t.Context(), func(ctx context.Context, _ access.Tx, e events.Emitter[Parcel]) error {
			refused = e.Emit(ctx, p)
			return nil // swallowed: nothing was written, so there is nothing to roll back
		}))
		require.ErrorContains(t, refused, want)
	}
	for table, rows := range a.parcelRows() {
		require.Zero(t, rows, table)
	}
}

// An event whose lists could not be written is not half stored because an app
// swallowed the error.
func TestAnEventIsStoredWithAllItsListsOrNotAtAll(t *testing.T) {
	t.Parallel()
	a := startParcel(t, parcels(), kernel.PublishOnly())
	work := func(ctx context.Context, _ access.Tx, e events.Emitter[Parcel]) error {
		inner, cancel := context.WithCancel(ctx)
		cancel()
		_ = e.Emit(inner, parcel())
		return nil
	}
	require.Error(t, a.send(t.Context(), work))
	_, err := a.DB().Exec(`ALTER TABLE "test.app"."@event:Parcel.Items.Tags" RENAME TO gone`)
	require.NoError(t, err)
	err = a.send(t.Context(), func(ctx context.Context, _ access.Tx, e events.Emitter[Parcel]) error {
		_ = e.Emit(ctx, parcel())
		return nil
	})
	require.ErrorIs(t, err, persistence.ErrRollbackOnly)
	require.ErrorContains(t, err, "store Items[].Tags: ")
	require.Zero(t, a.count(`"test.app"."@event:Parcel"`))
	require.Zero(t, a.count(`"test.app"."@event:Parcel.Items"`))
}

func TestAnEventWithSeventyThousandElementsIsStored(t *testing.T) {
	t.Parallel()
	a := startParcel(t, parcels(), kernel.PublishOnly())
	p := Parcel{To: Zip{"12345"}, Items: make([]Item, 35_000), Fees: map[string]int64{}}
	for i := range p.Items {
		p.Items[i].Note = strconv.Itoa(i)
		p.Fees[p.Items[i].Note] = int64(i)
	}
	id := uuid.New()
	require.NoError(t, a.emitParcel(p, events.ID(id)))
	require.NoError(t, a.emitParcel(p, events.ID(id)), "and compared")
	entry, err := kerneltest.Get[events.History[Parcel]](a.Kernel).Get(t.Context(), id)
	require.NoError(t, err)
	require.Len(t, entry.Event.Items, 35_000)
	require.Equal(t, "34999", entry.Event.Items[34_999].Note)
	require.True(t, maps.Equal(p.Fees, entry.Event.Fees))
}

func TestTwentyThousandEventsFitIntoOneUsecase(t *testing.T) {
	t.Parallel()
	const n = 20_000
	a := startParcel(t, parcels(), kernel.PublishOnly())
	require.NoError(t, a.send(t.Context(), func(ctx context.Context, _ access.Tx, e events.Emitter[Parcel]) error {
		p := Parcel{To: Zip{"12345"}}
		for i := range n {
			p.Note, p.Fees = strconv.Itoa(i), nil
			if i%10 == 0 {
				p.Fees = map[string]int64{p.Note: int64(i)}
			}
			if err := e.Emit(ctx, p); err != nil {
				return err
			}
		}
		return nil
	}))
	rows := a.parcelRows()
	require.Equal(t, n, rows[""])
	require.Equal(t, n/10, rows[".Fees"])
}

// The number in the name is what a name may hold; the way out is in the error.
func TestNamespacesAreQuotedOrRefused(t *testing.T) {
	t.Parallel()
	for _, namespace := range []string{"we ird", `a"b`, "ä.ö'; DROP TABLE x; --", strings.Repeat("n", 63)} {
		t.Run(namespace, func(t *testing.T) {
			t.Parallel()
			k := kerneltest.New(t, do[Parcel](), sizeEnum(), zipCodec(), events.Declare[Parcel](namespace+".Parcel", events.Recorded()), events.Deferred("test.app.Take", listen[Parcel]))
			a := app{k, t}
			id := uuid.New()
			require.NoError(t, a.emitParcel(parcel(), events.ID(id)))
			a.Drain()
			entry, err := kerneltest.Get[events.History[Parcel]](k).Get(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, parcel(), entry.Event)
			require.Zero(t, a.count(`tidings.jobs WHERE state <> 'COMPLETED'`))
			require.WithinDuration(t, time.Now(), entry.RecordedAt, time.Hour)
		})
	}
	err := problemsOf(events.Declare[Fact](strings.Repeat("n", 70) + ".Fact"))
	require.ErrorContains(t, err, `name "`+strings.Repeat("n", 70)+`" has 70 bytes, PostgreSQL keeps 63; choose another schema name (for events: a shorter namespace)`)
	require.ErrorContains(t, err, "(events/mapping_test.go:")
	err = problemsOf(events.Declare[Fact]("pg_x.Fact"))
	require.ErrorContains(t, err, "belongs to PostgreSQL")
}
