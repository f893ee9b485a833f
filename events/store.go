package events

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/persistence/mapping"
	"github.com/tidings-go/tidings/persistence/schema"
)

// store writes and reads the rows of one event type.
type store struct {
	db     *persistence.Database
	typ    *Type
	plan   *mapping.Plan
	tables []schema.Table         // in the order of the plan's
	insert *persistence.Statement // event and jobs
	load   *persistence.Statement
	parts  []part // of lists, sets and maps; the first is empty
}

// part has the statements of the table of a list, set or map.
type part struct{ insert, load *persistence.Statement }

func newStore(db *persistence.Database, framework string, t *Type, p *planned) *store {
	s := &store{db: db, typ: t, plan: p.plan, tables: p.tables, parts: make([]part, len(p.tables))}
	s.insert = db.Statement(insertSQL(framework, p.tables[0], p.plan.Tables()[0].Columns))
	s.load = db.Statement(loadSQL(p.tables[0], p.plan.Tables()[0].Columns) + whereID)
	for i, table := range p.tables[1:] {
		s.parts[i+1] = part{db.Statement(insertPartSQL(table)), db.Statement(loadPartSQL(table))}
	}
	return s
}

// statements returns what emit and delivery run.
func (s *store) statements() []*persistence.Statement {
	all := []*persistence.Statement{s.insert, s.load}
	for _, p := range s.parts[1:] {
		all = append(all, p.insert, p.load)
	}
	return all
}

// row is what is stored of an event beside the fact.
type row struct {
	id          uuid.UUID
	occurredAt  *time.Time
	correlation string
	causation   uuid.UUID
	trace       string
}

// put stores an event with jobs for the listeners. It returns false where the
// identity is already taken. Dated: the row is to have its occurrence time
// afterwards.
func (s *store) put(ctx context.Context, t *persistence.Transaction, r *row, fact *mapping.Rows, typeID int32, listeners string, dated bool) (bool, error) {
	var occurred, causation, trace any
	nanos := 0
	if r.occurredAt != nil {
		at := r.occurredAt.UTC()
		nanos = at.Nanosecond() % 1000
		occurred = at.Truncate(time.Microsecond)
	}
	if r.causation != uuid.Nil {
		causation = r.causation.String()
	}
	if r.trace != "" {
		trace = r.trace
	}
	args := append([]any{r.id.String(), occurred, nanos, r.correlation, causation, trace, typeID, listeners}, fact.Root()...)
	fresh, err := s.insertRow(ctx, t, r, dated, args)
	if err != nil || !fresh {
		return false, err
	}
	return true, s.putParts(ctx, t, r.id, fact)
}

// insertRow runs the insert. Rows that are read cost a goroutine or two of
// database/sql and the driver, so the answer is read only where the database sets
// a time that is asked for.
func (s *store) insertRow(ctx context.Context, t *persistence.Transaction, r *row, dated bool, args []any) (bool, error) {
	if !dated || r.occurredAt != nil {
		n, err := s.insert.Exec(ctx, t, args...)
		return n == 1, err
	}
	var stored time.Time
	err := s.insert.QueryOne(ctx, t, args, &stored)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	at := stored.UTC()
	r.occurredAt = &at
	return true, nil
}

// putParts stores the elements of lists, sets and maps. The event's row stands
// already, so a failure marks the transaction: nobody may commit half an event by
// swallowing the error of emit.
func (s *store) putParts(ctx context.Context, t *persistence.Transaction, id uuid.UUID, fact *mapping.Rows) error {
	for i := 1; i < len(s.parts); i++ {
		for arrays := range fact.Batches(i) {
			if _, err := s.parts[i].insert.Exec(ctx, t, append([]any{id.String()}, arrays...)...); err != nil {
				err = fmt.Errorf("store %s: %w", s.plan.Tables()[i].Path, err)
				t.SetRollbackOnly(err)
				return err
			}
		}
	}
	return nil
}

// Stored is an event as it was read back.
type Stored struct {
	ID          uuid.UUID
	Event       any
	OccurredAt  time.Time
	RecordedAt  time.Time
	Correlation string
	Causation   uuid.UUID
	// Trace is the trace context of the publisher, or "".
	Trace string
	// Err says why the event could not be rebuilt; it wraps ErrRebuild.
	Err error
}

// read returns the stored events with these identities; an identity without a
// row is missing from the result.
func (s *store) read(ctx context.Context, q persistence.Querier, ids []uuid.UUID) (map[uuid.UUID]Stored, error) {
	all, err := s.query(ctx, q, s.load, uuidArray(ids))
	if err != nil {
		return nil, err
	}
	found := make(map[uuid.UUID]Stored, len(all))
	for _, e := range all {
		found[e.ID] = e
	}
	return found, nil
}

// query reads events with one statement, and with one more for each table of
// lists, sets and maps that they have rows in.
func (s *store) query(ctx context.Context, q persistence.Querier, statement *persistence.Statement, args ...any) ([]Stored, error) {
	all, records, err := s.queryOwn(ctx, q, statement, args)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.typ.decl.Identity, err)
	}
	for i := 1; i < len(s.parts); i++ {
		if err := s.queryPart(ctx, q, i, records); err != nil {
			return nil, fmt.Errorf("read %s, %s: %w", s.typ.decl.Identity, s.plan.Tables()[i].Path, err)
		}
	}
	for i := range all {
		e := &all[i]
		if e.Event, err = s.plan.Decode(records[e.ID]); err != nil {
			e.Err = fmt.Errorf("%w: %s %s: %w", ErrRebuild, s.typ.decl.Identity, e.ID, err)
		}
	}
	return all, nil
}

// queryOwn reads the events' own rows, in the order of the answer.
func (s *store) queryOwn(ctx context.Context, q persistence.Querier, statement *persistence.Statement, args []any) ([]Stored, map[uuid.UUID]*mapping.Record, error) {
	var all []Stored
	records := map[uuid.UUID]*mapping.Record{}
	err := statement.QueryEach(ctx, q, args, func(rows *sql.Rows) error {
		var e Stored
		var nanos int
		var causation uuid.NullUUID
		var trace sql.NullString
		fact := s.plan.Targets(0)
		if err := rows.Scan(append([]any{&e.ID, &e.OccurredAt, &nanos, &e.Correlation, &causation, &trace, &e.RecordedAt}, fact...)...); err != nil {
			return err
		}
		e.OccurredAt = e.OccurredAt.UTC().Add(time.Duration(nanos))
		e.RecordedAt, e.Causation, e.Trace = e.RecordedAt.UTC(), causation.UUID, trace.String
		all = append(all, e)
		records[e.ID] = s.plan.NewRecord()
		records[e.ID].Add(0, fact)
		return nil
	})
	return all, records, err
}

// queryPart reads the rows of one table for all records that have some there.
func (s *store) queryPart(ctx context.Context, q persistence.Querier, part int, records map[uuid.UUID]*mapping.Record) error {
	var ids []uuid.UUID
	for id, record := range records {
		if record.Expects(part) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var id uuid.UUID
	into := make([]any, 1+len(s.plan.Tables()[part].Columns))
	into[0] = &id
	return s.parts[part].load.QueryEach(ctx, q, []any{uuidArray(ids)}, func(rows *sql.Rows) error {
		targets := s.plan.Targets(part)
		copy(into[1:], targets)
		if err := rows.Scan(into...); err != nil {
			return err
		}
		records[id].Add(part, targets)
		return nil
	})
}
