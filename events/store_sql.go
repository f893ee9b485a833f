package events

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/persistence/schema"
)

// ownParams is how many parameters of the insert stand before the fact's columns.
const ownParams = 8

// insertSQL stores an event and its jobs in one statement (a second statement
// costs 9 % of emit, measured). It answers with one row, the occurrence time of the
// stored event, or with none where the identity was already taken: then nothing is
// stored.
// ON CONFLICT waits for a racing publisher of the same identity to end. The jobs
// get their numbers in the order of the listeners' identities.
func insertSQL(framework string, table schema.Table, fact []schema.Column) string {
	names := []string{eventID, eventOccurred, eventNanos, eventCorrelate, eventCausation, eventTrace}
	for _, c := range fact {
		names = append(names, c.Name)
	}
	values := make([]string, len(names))
	for i := range names {
		switch n := i + 1; {
		case names[i] == eventOccurred:
			values[i] = "coalesce($2::timestamptz, clock_timestamp())"
		case n <= 6:
			values[i] = fmt.Sprintf("$%d", n)
		default:
			values[i] = fmt.Sprintf("$%d", n+ownParams-6)
		}
	}
	return fmt.Sprintf(`WITH event AS (
	INSERT INTO %s (%s)
	VALUES (%s)
	ON CONFLICT ("id") DO NOTHING
	RETURNING "id", "@occurredAt"
), jobs AS (
	INSERT INTO %s (event_type_id, event_id, listener_id)
	SELECT $7::integer, event."id", listener FROM event CROSS JOIN unnest($8::integer[]) AS listener
)
SELECT "@occurredAt" FROM event`,
		schema.Qualified(table.Schema, table.Name), quoted(names), strings.Join(values, ", "),
		schema.Qualified(framework, "delivery"))
}

// loadSQL reads events; whereID, those with the given identities. Rows of events
// never change.
func loadSQL(table schema.Table, fact []schema.Column) string {
	names := []string{eventID, eventOccurred, eventNanos, eventCorrelate, eventCausation, eventTrace, eventRecorded}
	for _, c := range fact {
		names = append(names, c.Name)
	}
	return fmt.Sprintf(`SELECT %s FROM %s`, quoted(names), schema.Qualified(table.Schema, table.Name))
}

const whereID = ` WHERE "id" = ANY ($1::uuid[])`

// insertPartSQL stores elements of a list, set or map of one event, any number at
// once: each column travels as one array.
func insertPartSQL(table schema.Table) string {
	arrays := make([]string, len(table.Columns)-1)
	for i, c := range table.Columns[1:] {
		arrays[i] = fmt.Sprintf("$%d::%s[]", i+2, c.Type)
	}
	return fmt.Sprintf(`INSERT INTO %s (%s)
SELECT $1::uuid, * FROM unnest(%s)`,
		schema.Qualified(table.Schema, table.Name), quoted(columnNames(table)), strings.Join(arrays, ", "))
}

// loadPartSQL reads the elements of a list, set or map for the given events.
func loadPartSQL(table schema.Table) string {
	return fmt.Sprintf(`SELECT %s FROM %s WHERE %s = ANY ($1::uuid[])`,
		quoted(columnNames(table)), schema.Qualified(table.Schema, table.Name), schema.Quote(partEvent))
}

func columnNames(table schema.Table) []string {
	names := make([]string, len(table.Columns))
	for i, c := range table.Columns {
		names[i] = c.Name
	}
	return names
}

func quoted(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = schema.Quote(name)
	}
	return strings.Join(all, ", ")
}

// uuidArray is ids as the text of a uuid[], which both drivers hand on as it is.
func uuidArray(ids []uuid.UUID) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(id.String())
	}
	b.WriteByte('}')
	return b.String()
}
