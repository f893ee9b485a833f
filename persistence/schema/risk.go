package schema

import "fmt"

// Risk says what a step can do to existing data and to those who use it.
type Risk int

// Risks, from least to most.
const (
	// Safe steps keep every row as it is and cannot fail for its sake.
	Safe Risk = iota
	// Rewrite steps keep every value, but write the whole table anew while
	// nobody can read or write it.
	Rewrite
	// DataDependent steps fail, or fill in values, depending on the rows there.
	DataDependent
	// Destructive steps lose data, or can change values silently.
	Destructive
)

var riskNames = [...]string{"safe", "rewrite", "data-dependent", "destructive"}

// String returns the word that candidates use.
func (r Risk) String() string {
	if r < 0 || int(r) >= len(riskNames) {
		return fmt.Sprintf("risk %d", int(r))
	}
	return riskNames[r]
}

// MarshalText writes the word.
func (r Risk) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Step is one change of a plan.
type Step struct {
	Risk Risk `json:"risk"`
	// Title names the change and its object, such as: add column "note" to "s"."t".
	Title string `json:"title"`
	// Rows says what happens to the rows that are there, Locks who has to wait.
	Rows  string `json:"rows"`
	Locks string `json:"locks"`
	// Instead is another way for those who cannot afford this one: every rewrite
	// names one. Look is a query that tells beforehand what the step will meet.
	Instead string `json:"instead,omitempty"`
	Look    string `json:"look,omitempty"`
	// Online steps run outside a transaction, after all others; each may run
	// again after it was interrupted.
	Online bool `json:"online,omitempty"`
	// Converts steps give existing values another form that may lose something.
	Converts   bool     `json:"-"`
	Statements []string `json:"statements"`

	phase phase
	view  string // that the step makes
}

// phase is a step's place in the plan: what it needs comes before it.
type phase int

const (
	dropViews phase = iota
	makeSchemas
	rename
	dropReferences
	dropConstraints
	dropEarly // drops whose names are needed again
	createTables
	alterColumns
	alterTables
	addReferences // of new tables, and checks that replace others
	createViews

	// What follows may run online.
	backfill
	addChecks
	requireColumns
	addIdentities
	addKeys
	addLateReferences
	addIndexes
	dropLate // what holds data goes last: all else has succeeded by then
	createLateViews
)
