package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lib/pq"

	"github.com/tidings-go/tidings/persistence/schema"
)

func checkSchema(ctx context.Context, x *examination) error {
	differences, err := x.Differences(ctx)
	if err != nil {
		return err
	}
	for _, d := range differences {
		x.problem("`schema plan` writes what is missing as a migration, `schema apply` runs it", "%s", d)
	}
	x.well("as the app declares it")
	return nil
}

func checkIndexes(ctx context.Context, x *examination) error {
	var schemas, names []string
	for _, t := range x.Tables {
		schemas, names = append(schemas, t[0]), append(names, t[1])
	}
	var invalid []string
	if err := x.DB.SelectContext(ctx, &invalid, invalidSQL, pq.Array(schemas), pq.Array(names)); err != nil {
		return err
	}
	for _, name := range invalid {
		x.problem("REINDEX INDEX CONCURRENTLY "+name, "index %s is invalid: a CREATE INDEX CONCURRENTLY did not end, and nothing uses it", name)
	}
	differences, err := x.Differences(ctx)
	if err != nil {
		return err
	}
	for _, d := range differences {
		if strings.Contains(d, `index "`) && !strings.Contains(d, "not valid") {
			x.problem("`schema plan` and `schema apply` create it", "%s: claims may scan the table", d)
		}
	}
	x.well("all there and valid")
	return nil
}

// jobTable is what PostgreSQL knows of the job table.
type jobTable struct {
	Bytes, Estimated, Live, Dead int64
	Vacuumed                     float64
	Options                      string
	FrozenAge                    int64 `db:"frozen_age"`
	FreezeMax                    int64 `db:"freeze_max"`
}

func (x *examination) jobTable(ctx context.Context) (t jobTable, err error) {
	err = x.DB.GetContext(ctx, &t, tableSQL, schema.Qualified(x.Framework, "delivery"))
	return t, err
}

// Sizes below which bloat costs nothing.
const (
	minDead  = 100_000
	minIndex = 4 << 20
)

func checkBloat(ctx context.Context, x *examination) error {
	t, err := x.jobTable(ctx)
	if err != nil {
		return err
	}
	name := schema.Qualified(x.Framework, "delivery")
	if t.Dead > minDead && t.Dead > t.Live/5 {
		x.problem("see what holds back vacuum (check snapshots), then VACUUM "+name, "%d dead rows beside %d live ones: claims get slow", t.Dead, t.Live)
	}
	var indexes []struct {
		Name           string
		Bytes, Entries int64
	}
	if err := x.DB.SelectContext(ctx, &indexes, indexBloatSQL, name, minIndex); err != nil {
		return err
	}
	for _, i := range indexes {
		x.note("REINDEX INDEX CONCURRENTLY "+i.Name, "index %s has %s for %d entries", i.Name, size(i.Bytes), i.Entries)
	}
	x.well("%s, %d live rows, %d dead", size(t.Bytes), t.Live, t.Dead)
	return nil
}

func checkAutovacuum(ctx context.Context, x *examination) error {
	t, err := x.jobTable(ctx)
	if err != nil {
		return err
	}
	name := schema.Qualified(x.Framework, "delivery")
	if strings.Contains(t.Options, "autovacuum_enabled=false") {
		x.problem("ALTER TABLE "+name+" RESET (autovacuum_enabled)", "autovacuum is off for the job table")
	}
	for _, o := range []string{"autovacuum_vacuum_scale_factor=0", "autovacuum_vacuum_threshold=20000", "autovacuum_vacuum_cost_delay=0"} {
		if !strings.Contains(" "+t.Options+" ", " "+o+" ") {
			x.note("ALTER TABLE "+name+" SET ("+o+")", "the job table does not have %s: a long drain makes claims slow (measured)", o)
		}
	}
	if t.FrozenAge*10 > t.FreezeMax*9 {
		x.note("let autovacuum run, or VACUUM (FREEZE) "+name, "the job table was last frozen %d transactions ago, of %d", t.FrozenAge, t.FreezeMax)
	}
	when := "never vacuumed yet"
	if t.Vacuumed >= 0 {
		when = fmt.Sprintf("last vacuumed %v ago", time.Duration(t.Vacuumed*float64(time.Second)).Round(time.Second))
	}
	x.well("tuned for the job table; %s", when)
	return nil
}

func size(bytes int64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	case bytes >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	default:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
}
