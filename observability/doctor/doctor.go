package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/tidings-go/tidings/delivery"
)

// Status is how bad a finding is.
type Status string

// The statuses of findings.
const (
	OK      Status = "ok"
	Note    Status = "note"    // worth knowing; nothing has to be done now
	Problem Status = "problem" // something has to be done
)

// Finding is what one check found.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	// Says is what was found, Do what to do about it.
	Says string `json:"says"`
	Do   string `json:"do,omitempty"`
}

// Patient is what is examined.
type Patient struct {
	// DB is a pool on the app's database, as the app's user.
	DB *sqlx.DB
	// Framework is the schema of the framework's tables.
	Framework string
	// Tables are the app's own tables and the framework's, by schema and name.
	Tables [][2]string
	// LongSnapshot is how long a transaction may hold back vacuum; default 5m, far
	// above the default time limits of listeners.
	LongSnapshot time.Duration
	// Config and PoolSize are the app's.
	Config   delivery.Config
	PoolSize int
	// Differences compares the schema with what the app declares.
	Differences func(context.Context) ([]string, error)
	// Backlog reads the jobs.
	Backlog func(context.Context) (delivery.Backlog, error)
	// Development says that the database may be lost: that it is not durable is
	// then worth a note.
	Development bool
	// Around runs a check; a caller may show progress. Nil runs it plainly.
	Around func(check string, run func())
}

// checkTimeout bounds each check.
const checkTimeout = 15 * time.Second

// Examine runs all checks. A check that cannot be made is a problem of its own.
func Examine(ctx context.Context, p Patient) []Finding {
	if p.LongSnapshot == 0 {
		p.LongSnapshot = 5 * time.Minute
	}
	var all []Finding
	for _, c := range []struct {
		name string
		run  func(context.Context, *examination) error
	}{
		{"version", checkVersion},
		{"settings", checkSettings},
		{"privileges", checkPrivileges},
		{"schema", checkSchema},
		{"connections", checkConnections},
		{"clock", checkClock},
		{"snapshots", checkSnapshots},
		{"indexes", checkIndexes},
		{"bloat", checkBloat},
		{"autovacuum", checkAutovacuum},
		{"nodes", checkNodes},
		{"jobs", checkJobs},
	} {
		x := &examination{Patient: p, check: c.name}
		run := func() {
			ctx, cancel := context.WithTimeout(ctx, checkTimeout)
			defer cancel()
			if err := c.run(ctx, x); err != nil {
				x.problem("see that the database answers, and that its user may read this", "could not be examined: %v", err)
			}
		}
		if p.Around != nil {
			p.Around(c.name, run)
		} else {
			run()
		}
		all = append(all, x.findings...)
	}
	return all
}

// Problems returns how many findings are problems.
func Problems(findings []Finding) int {
	n := 0
	for _, f := range findings {
		if f.Status == Problem {
			n++
		}
	}
	return n
}

// examination is one check under way.
type examination struct {
	Patient
	check    string
	findings []Finding
}

func (x *examination) add(s Status, do, format string, args ...any) {
	x.findings = append(x.findings, Finding{Check: x.check, Status: s, Says: fmt.Sprintf(format, args...), Do: do})
}

func (x *examination) ok(format string, args ...any) { x.add(OK, "", format, args...) }

func (x *examination) note(do, format string, args ...any) { x.add(Note, do, format, args...) }

func (x *examination) problem(do, format string, args ...any) { x.add(Problem, do, format, args...) }

// well adds that all is well where nothing else was found.
func (x *examination) well(format string, args ...any) {
	if len(x.findings) == 0 {
		x.ok(format, args...)
	}
}
