package demo

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// Books is what the tables say at the end of the day.
type Books struct {
	// Emitted counts the facts that the app's own tables hold.
	Emitted int64 `json:"emitted" db:"emitted"`
	// Stored counts the events.
	Stored int64 `json:"stored" db:"stored"`
	// Delivered counts the completed jobs; Retried and Recovered those of them
	// that had failed before, and whose worker had died.
	Delivered int64 `json:"delivered" db:"delivered"`
	Retried   int64 `json:"retried" db:"retried"`
	Recovered int64 `json:"recovered" db:"recovered"`
	// Failed and Blocked count the jobs in these states.
	Failed  int64 `json:"failed" db:"failed"`
	Blocked int64 `json:"blocked" db:"blocked"`
	// Lost counts facts without event, events without job and completed jobs
	// without effect; Duplicated what there is too much of.
	Lost       int64 `json:"lost" db:"-"`
	Duplicated int64 `json:"duplicated" db:"-"`

	findings []finding
}

// finding is something that is lost or happened twice.
type finding struct {
	What string `db:"what"`
	N    int64  `db:"n"`
	Text string `db:"text"`
}

// readBooks reads the books: by SQL alone, from nothing that this process
// remembers.
func readBooks(ctx context.Context, db *sqlx.DB) (Books, error) {
	var b Books
	if err := db.GetContext(ctx, &b, countsSQL); err != nil {
		return Books{}, fmt.Errorf("count: %w", err)
	}
	if err := db.SelectContext(ctx, &b.findings, findingsSQL); err != nil {
		return Books{}, fmt.Errorf("check the books: %w", err)
	}
	for _, f := range b.findings {
		if f.What == "lost" {
			b.Lost += f.N
		} else {
			b.Duplicated += f.N
		}
	}
	return b, nil
}

// tell tells the books and returns whether they balance.
func (b Books) tell(s *story, asJSON bool) error {
	for _, line := range []struct {
		name string
		n    int64
		text string
	}{
		{"emitted", b.Emitted, "facts in the app's own tables, each published as an event"},
		{"stored", b.Stored, "events, each in the commit that made its fact"},
		{"delivered", b.Delivered, "jobs COMPLETED, each in the commit that made its effect"},
		{"  retried", b.Retried, "of them after attempts that failed"},
		{"  recovered", b.Recovered, "of them after the death of their worker"},
		{"failed", b.Failed, "jobs that used up their attempts, kept with their errors"},
		{"blocked", b.Blocked, "jobs that wait for a node with their listener"},
		{"lost", b.Lost, "facts without event, events without job, COMPLETED jobs without effect"},
		{"duplicated", b.Duplicated, "effects that are there more than once, or without a COMPLETED job"},
	} {
		s.print("   %-12s %3d   %s\n", line.name, line.n, line.text)
	}
	s.print("\n")
	for _, f := range b.findings {
		s.print("   %s: %s\n", f.What, f.Text)
	}
	var err error
	if len(b.findings) > 0 {
		err = errBooks
		s.print("   The books do NOT balance.\n")
	} else {
		s.print("   Nothing is lost, and nothing happened twice.\n")
	}
	if asJSON {
		text, e := json.Marshal(b)
		if e != nil {
			return e
		}
		s.print("%s\n", text)
	}
	return err
}
