package migrate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tidings-go/tidings/persistence/schema"
)

// Options is what the developer says about a candidate.
type Options struct {
	Name  string // such as add_note
	Force bool   // acknowledges what is destructive
	At    time.Time
	Plan  schema.PlanOptions
	// Changes are further steps, such as a change of stored names.
	Changes []Change
}

// Change is a step that is not about the model, and the way back.
type Change struct {
	Step schema.Step
	Down []string
}

// Candidate is a migration that nobody has reviewed yet.
type Candidate struct {
	Name  string        `json:"name"`
	Risk  schema.Risk   `json:"risk"`
	Steps []schema.Step `json:"steps"`
	Files []File        `json:"files"`
}

// File is one file of a candidate. Its text is not part of the JSON form.
type File struct {
	Name string `json:"name"`
	Text string `json:"-"`
}

// Empty tells whether there is nothing to migrate.
func (c Candidate) Empty() bool { return len(c.Steps) == 0 }

var candidateName = regexp.MustCompile(`^[a-z0-9_]+$`)

// NewCandidate plans from the last snapshot of the folder to the model. Nothing
// is written. The error wraps ErrForce, together with a candidate without files,
// where force is missing.
func NewCandidate(folder Folder, model schema.Model, o Options) (Candidate, error) {
	c := Candidate{Name: o.Name}
	if !candidateName.MatchString(o.Name) {
		return c, fmt.Errorf("%w, not %q", ErrName, o.Name)
	}
	if err := model.Validate(); err != nil {
		return c, err
	}
	last := folder.Last()
	plan, err := schema.NewPlan(last.Model, model, o.Plan)
	if err != nil {
		return c, err
	}
	d := draft{options: o, last: last, plan: plan, changed: len(plan.Steps) > 0}
	d.model = schema.Merge(model, schema.Model{Tables: plan.Kept}).Canonical()
	c.Steps = d.steps()
	if c.Empty() {
		return c, nil
	}
	for _, s := range c.Steps {
		c.Risk = max(c.Risk, s.Risk)
	}
	if c.Risk == schema.Destructive && !o.Force {
		return c, fmt.Errorf("%w: --force writes it nevertheless (which acknowledges the risk and transfers nothing):%s", ErrForce, titles(c.Steps, schema.Destructive))
	}
	c.Files, err = d.files(folder.highest())
	return c, err
}

func titles(steps []schema.Step, risk schema.Risk) string {
	var text strings.Builder
	for _, s := range steps {
		if s.Risk == risk {
			text.WriteString("\n  " + s.Title)
		}
	}
	return text.String()
}

// draft is a candidate on its way to files.
type draft struct {
	options Options
	last    Snapshot
	plan    schema.Plan
	model   schema.Model
	changed bool // the model: else there is no snapshot
}

// steps are those of the plan, with the further changes before its online part.
func (d draft) steps() []schema.Step {
	var inTransaction, online []schema.Step
	for _, s := range d.plan.Steps {
		if s.Online {
			online = append(online, s)
		} else {
			inTransaction = append(inTransaction, s)
		}
	}
	for _, change := range d.options.Changes {
		inTransaction = append(inTransaction, change.Step)
	}
	return append(inTransaction, online...)
}

func (d draft) files(highest int64) ([]File, error) {
	v, err := strconv.ParseInt(d.options.At.UTC().Format("20060102150405"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("version of the candidate: %w", err)
	}
	v = max(v, highest+1)
	parts := d.parts()
	names := make([]string, len(parts))
	for i := range parts {
		names[i] = fmt.Sprintf("%d_%s.sql", v+int64(i), d.options.Name)
		if i > 0 {
			names[i] = fmt.Sprintf("%d_%s_online.sql", v+int64(i), d.options.Name)
		}
	}
	s := Snapshot{
		Format: format, Name: d.options.Name, Version: v + int64(len(parts)) - 1, Migrations: names,
		Predecessor: d.last.Fingerprint, Model: d.model,
	}
	for _, t := range d.plan.Kept {
		s.Kept = append(s.Kept, TableName{t.Schema, t.Name})
	}
	if err := s.seal(); err != nil {
		return nil, err
	}
	var files []File
	for i, part := range parts {
		part.name, part.of, part.snapshot = names[i], names, s.File()
		if !d.changed {
			part.snapshot = ""
		}
		text, err := part.render(d.options)
		if err != nil {
			return nil, err
		}
		files = append(files, File{names[i], text})
	}
	if !d.changed {
		return files, nil
	}
	text, err := schema.MarshalCanonical(s)
	return append(files, File{s.File(), string(text)}), err
}

// parts splits the steps into what runs in one transaction and what cannot.
func (d draft) parts() []part {
	var first, second part
	for _, s := range d.steps() {
		if s.Online {
			second.up = append(second.up, s)
		} else {
			first.up = append(first.up, s)
		}
	}
	second.online = true
	down, why := d.down()
	if len(first.up) == 0 {
		second.down, second.noDown = down, why
		return []part{second}
	}
	first.down, first.noDown = down, why
	if len(second.up) == 0 {
		return []part{first}
	}
	second.undoneBefore = true
	return []part{first, second}
}

// down plans the way back, or says why there is none.
func (d draft) down() ([]schema.Step, string) {
	if d.plan.Risk() == schema.Destructive {
		return nil, "it lost data, which no statement brings back: restore a backup"
	}
	back := schema.PlanOptions{Renames: schema.InverseRenames(d.options.Plan.Renames), Transactional: true}
	plan, err := schema.NewPlan(d.model, d.last.Model, back)
	if err != nil {
		return nil, "there is no way back without knowledge about the rows: " + err.Error()
	}
	for _, s := range plan.Steps {
		if s.Converts {
			return nil, "the way back could cut or round what was stored since (" + s.Title + "): plan it"
		}
	}
	steps := plan.Steps
	for _, change := range d.options.Changes {
		s := change.Step
		s.Title, s.Statements = "undo: "+s.Title, change.Down
		steps = append([]schema.Step{s}, steps...)
	}
	return steps, ""
}

// Write writes the candidate's files into the folder, which it makes if it is
// missing. It overwrites nothing: if one of the names is taken, none is written.
func (c Candidate) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write candidate: %w", err)
	}
	for i, f := range c.Files {
		if err := writeNew(filepath.Join(dir, f.Name), f.Text); err != nil {
			for _, written := range c.Files[:i] {
				err = errors.Join(err, os.Remove(filepath.Join(dir, written.Name)))
			}
			return fmt.Errorf("write candidate: %w", err)
		}
	}
	return nil
}

func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		return errors.Join(err, f.Close(), os.Remove(path))
	}
	return f.Close()
}
