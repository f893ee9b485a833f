package migrate

import (
	"fmt"
	"strings"

	"github.com/tidings-go/tidings/persistence/schema"
)

// part is one SQL file of a candidate.
type part struct {
	name, snapshot string
	of             []string // all files of the candidate
	online         bool
	up, down       []schema.Step
	noDown         string // why there is no way back
	undoneBefore   bool   // the way back stands in the file before
}

const snapshotMark = "-- tidings snapshot: "

// snapshotOf returns the snapshot that a candidate's SQL file names.
func snapshotOf(text string) string {
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, snapshotMark); ok {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

// render writes the file.
func (p part) render(o Options) (string, error) {
	var f sqlFile
	if p.online {
		f.line("-- +goose NO TRANSACTION")
	}
	f.comment("Migration candidate %q, file %d of %d: %s", o.Name, p.place(), len(p.of), p.kind())
	if p.snapshot != "" {
		f.line(snapshotMark + p.snapshot)
	}
	f.line("--")
	f.comment("%s", Notice)
	if o.Force {
		f.line("--")
		f.comment("--force was given for this candidate: the risk was acknowledged, not taken over.")
	}
	f.line("--")
	f.comment("Steps: %s", summary(p.up))
	f.line("")
	f.line("-- +goose Up")
	f.locks(p.online)
	f.steps(p.up, p.online)
	f.line("-- +goose Down")
	p.renderDown(&f)
	return f.text.String(), f.err
}

func (p part) place() int {
	for i, name := range p.of {
		if name == p.name {
			return i + 1
		}
	}
	return 1
}

func (p part) kind() string {
	if p.online {
		return "outside a transaction, step by step, so that locks stay short.\n" +
			"If it stops, mend the cause and run it again: every step may be repeated."
	}
	return "one transaction, all or nothing."
}

func summary(steps []schema.Step) string {
	var counts []string
	for risk := schema.Safe; risk <= schema.Destructive; risk++ {
		n := 0
		for _, s := range steps {
			if s.Risk == risk {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, strings.ToUpper(risk.String())))
		}
	}
	return strings.Join(counts, ", ")
}

func (p part) renderDown(f *sqlFile) {
	switch {
	case p.undoneBefore:
		f.comment("Nothing here: the Down of %s undoes both files, and the steps above may run again.", p.of[0])
	case p.noDown != "":
		f.comment("There is no way back: %s.", p.noDown)
		f.statement("DO $down$ BEGIN RAISE EXCEPTION USING MESSAGE = " +
			literal("migration "+p.name+" cannot be undone: "+p.noDown) + "; END $down$")
	case len(p.down) == 0:
		f.comment("Nothing to undo.")
	default:
		f.comment("What was written since into tables and columns that the way up made is LOST on the way down.")
		f.locks(p.online)
		f.steps(p.down, p.online)
	}
}

// literal quotes a message that holds no backslash sequences of its own.
func literal(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, `\`, "/"), "'", "''") + "'"
}

// sqlFile collects the text of a goose file.
type sqlFile struct {
	text strings.Builder
	wait string // the current lock_timeout outside a transaction
	err  error
}

func (f *sqlFile) line(text string) { f.text.WriteString(text + "\n") }

// comment writes text as comment lines, in which nothing is a directive.
func (f *sqlFile) comment(format string, args ...any) {
	text := strings.NewReplacer("\r", `\r`, "+goose", "+ goose").Replace(fmt.Sprintf(format, args...))
	for _, line := range strings.Split(text, "\n") {
		f.line(strings.TrimRight("-- "+line, " "))
	}
}

// lockWait is how long a step waits for a lock while everybody who comes later
// waits behind it.
const lockWait = "'5s'"

func (f *sqlFile) locks(online bool) {
	if online {
		return // before each statement
	}
	f.comment("Whoever waits for a lock has all who come later wait behind it. After 5 seconds the migration")
	f.comment("gives up instead, with nothing changed; run it again, at a quieter time.")
	f.statement("SET LOCAL lock_timeout = " + lockWait)
	f.line("")
}

func (f *sqlFile) steps(steps []schema.Step, online bool) {
	for i, s := range steps {
		f.comment("Step %d of %d · %s · %s", i+1, len(steps), strings.ToUpper(s.Risk.String()), oneLine(s.Title))
		f.comment("  Existing rows %s", oneLine(s.Rows))
		f.comment("  Locks %s", oneLine(s.Locks))
		if s.Instead != "" {
			f.comment("  Instead: %s", oneLine(s.Instead))
		}
		if s.Look != "" {
			f.comment("  To look first: %s;", oneLine(s.Look))
		}
		for _, statement := range s.Statements {
			if online {
				f.waitFor(statement)
			}
			f.statement(statement)
		}
		f.line("")
	}
	if online {
		f.statement("RESET lock_timeout")
		f.line("")
	}
}

// oneLine keeps names with line breaks inside one comment line.
func oneLine(s string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(s) }

// waitFor lets statements that hold nobody up wait as long as it takes: a
// concurrent build that gives up leaves an invalid index behind.
func (f *sqlFile) waitFor(statement string) {
	wait := lockWait
	for _, patient := range []string{"CONCURRENTLY", "VALIDATE CONSTRAINT", "DO $backfill"} {
		if strings.Contains(statement, patient) {
			wait = "0"
		}
	}
	if wait != f.wait {
		f.statement("SET lock_timeout = " + wait)
		f.wait = wait
	}
}

// statement writes one statement so that goose reads exactly it.
func (f *sqlFile) statement(statement string) {
	statement = strings.TrimSpace(statement)
	if strings.Contains(statement, "\r") || strings.Contains(statement, "+goose") {
		f.err = fmt.Errorf("goose cannot read a statement with a carriage return or the word +goose: %.200q", statement)
		return
	}
	if !strings.ContainsAny(statement, "\n;") && !strings.Contains(statement, "--") {
		f.line(statement + ";")
		return
	}
	f.line("-- +goose StatementBegin")
	f.line(statement + ";")
	f.line("-- +goose StatementEnd")
}
