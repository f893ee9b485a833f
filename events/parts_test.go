package events_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel/kerneltest"
	"github.com/tidings-go/tidings/usecase"
)

// Order is an event with rows in child tables.
type Order struct {
	N     int
	Lines []Line
	Stock map[string]int
}

type Line struct{ Text string }

func order() Order {
	return Order{N: 1, Lines: []Line{{"a"}, {"b"}, {"a"}}, Stock: map[string]int{"x": 1, "y": 2}}
}

func emitOrder(o Order, opts ...events.EmitOption) Do[Order] {
	return Do[Order]{func(ctx context.Context, _ access.Tx, emitter events.Emitter[Order]) error {
		return emitter.Emit(ctx, o, opts...)
	}}
}

func TestChildRowsBelongToTheIdentityOfAnEvent(t *testing.T) {
	t.Parallel()
	ran := 0
	k := kerneltest.New(t, publishOnly(), do[Order](), events.Declare[Order]("test.app.Order"), events.Deferred("test.app.Later", listen[Order]),
		events.Sync("test.app.Now", func(context.Context, events.Self[Order, none]) error { ran++; return nil }))
	action := kerneltest.Get[usecase.Action[Do[Order]]](k)
	id := uuid.New()
	for range 3 {
		require.NoError(t, action.Execute(t.Context(), emitOrder(order(), events.ID(id))))
	}
	for name, change := range map[string]func(*Order){
		"a line's text":   func(o *Order) { o.Lines[1].Text = "c" },
		"a line less":     func(o *Order) { o.Lines = o.Lines[:2] },
		"a line more":     func(o *Order) { o.Lines = append(o.Lines, Line{"d"}) },
		"lines swapped":   func(o *Order) { o.Lines[0], o.Lines[1] = o.Lines[1], o.Lines[0] },
		"no lines":        func(o *Order) { o.Lines = nil },
		"empty lines":     func(o *Order) { o.Lines = []Line{} },
		"another key":     func(o *Order) { delete(o.Stock, "x"); o.Stock["z"] = 1 },
		"another value":   func(o *Order) { o.Stock["x"] = 7 },
		"a key less":      func(o *Order) { delete(o.Stock, "y") },
		"a key more":      func(o *Order) { o.Stock["z"] = 0 },
		"no map":          func(o *Order) { o.Stock = nil },
		"the fact itself": func(o *Order) { o.N = 2 },
	} {
		changed := order()
		change(&changed)
		require.ErrorIs(t, action.Execute(t.Context(), emitOrder(changed, events.ID(id))), events.ErrEventConflict, name)
	}
	bad := order()
	bad.Lines[2].Text = "a\x00"
	err := action.Execute(t.Context(), emitOrder(bad))
	require.ErrorContains(t, err, "Lines")
	require.ErrorContains(t, err, "Text")
	require.Equal(t, 1, ran)
	a := app{k, t}
	require.Equal(t, 1, a.count(`"test.app"."@event:Order"`))
	require.Equal(t, 1, a.count(jobs))
	refusal := errors.New("no")
	err = action.Execute(t.Context(), Do[Order]{func(ctx context.Context, _ access.Tx, emitter events.Emitter[Order]) error {
		return errors.Join(emitter.Emit(ctx, order()), refusal)
	}})
	require.ErrorIs(t, err, refusal)
	var rows int
	require.NoError(t, k.DB().Get(&rows, `SELECT sum((xpath('/row/n/text()', query_to_xml(format('SELECT count(*) AS n FROM %I.%I', table_schema, table_name),
	false, true, '')))[1]::text::int) FROM information_schema.tables WHERE table_schema = 'test.app'`))
	require.Equal(t, 1+3+2, rows, "one event, three lines, two entries: nothing of the conflicts and the roll-back")
}
