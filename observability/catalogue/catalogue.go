package catalogue

import (
	"cmp"
	"database/sql"
	"reflect"
	"slices"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/usecase"
)

// Catalogue is everything that a program declares, by kind and identity.
type Catalogue struct {
	Entries []Entry `json:"declarations"`
}

// Entry is one declaration.
type Entry struct {
	Kind     string `json:"kind"`
	Identity string `json:"identity"`
	// Declared and Function are where it is declared and where its function is
	// written, as folder/file:line; an event has no function.
	Declared string `json:"declared"`
	Function string `json:"function,omitempty"`
	// Input and Output are Go types; the input of a listener is its event.
	Input  string `json:"input"`
	Output string `json:"output,omitempty"`
	// Stored says of an event whether it is stored, Recorded whether it is also
	// without a deferred listener.
	Stored   bool `json:"stored,omitempty"`
	Recorded bool `json:"recorded,omitempty"`
	// Transaction and Policy are what the declaration says beside the defaults.
	Transaction *Transaction `json:"transaction,omitempty"`
	Policy      *Policy      `json:"policy,omitempty"`
	// Calls and Emits are identities of what its Deps let it call and emit,
	// ListensTo that of a listener's event, Listeners those of an event's.
	Calls     []string `json:"calls,omitempty"`
	Emits     []string `json:"emits,omitempty"`
	ListensTo string   `json:"listens_to,omitempty"`
	Listeners []string `json:"listeners,omitempty"`
}

// Transaction is what a usecase asks of its transaction.
type Transaction struct {
	ReadOnly        bool   `json:"read_only,omitempty"`
	Isolation       string `json:"isolation,omitempty"`
	ConflictRetries int    `json:"conflict_retries,omitempty"`
}

// Policy is how a deferred listener is delivered. Durations read like 1m30s.
type Policy struct {
	MaxAttempts  int    `json:"max_attempts"`
	BackoffFirst string `json:"backoff_first"`
	BackoffMax   string `json:"backoff_max"`
	TimeLimit    string `json:"time_limit"`
	Group        int    `json:"group,omitempty"`
	Isolation    string `json:"isolation,omitempty"`
}

// New describes declarations.
func New(declared []access.Declared) Catalogue {
	declared = slices.Clone(declared)
	slices.SortFunc(declared, func(x, y access.Declared) int {
		a, b := x.Declaration(), y.Declaration()
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Identity, b.Identity))
	})
	targets := map[access.Target]string{}
	for _, d := range declared {
		d := d.Declaration()
		if d.Kind != access.KindSyncListener && d.Kind != access.KindDeferredListener {
			targets[access.Target{Kind: d.Kind, Type: d.Input}] = d.Identity
		}
	}
	var c Catalogue
	for _, d := range declared {
		c.Entries = append(c.Entries, describe(d, targets))
	}
	c.listeners()
	return c
}

// listeners gives events their listeners.
func (c *Catalogue) listeners() {
	for i := range c.Entries {
		e := &c.Entries[i]
		for _, l := range c.Entries {
			if e.Kind == access.KindEvent.String() && l.ListensTo == e.Identity {
				e.Listeners = append(e.Listeners, l.Identity)
				e.Stored = e.Stored || l.Kind == access.KindDeferredListener.String()
			}
		}
	}
}

func describe(declared access.Declared, targets map[access.Target]string) Entry {
	d := declared.Declaration()
	e := Entry{
		Kind: d.Kind.String(), Identity: d.Identity, Declared: d.Source.String(),
		Input: typeName(d.Input), Output: typeName(d.Output),
	}
	if d.Kind != access.KindEvent {
		e.Function = d.Function.String()
	}
	for _, u := range access.Uses(d.Deps) {
		identity, ok := targets[u.Target]
		if !ok {
			continue // optional, and nothing declares it
		}
		list := &e.Calls
		if u.Target.Kind == access.KindEvent {
			list = &e.Emits
		}
		if !slices.Contains(*list, identity) {
			*list = append(*list, identity)
		}
	}
	switch d := declared.(type) {
	case *usecase.Definition:
		e.Transaction = transactionOf(d)
	case *events.Type:
		e.Stored, e.Recorded = d.IsRecorded(), d.IsRecorded()
	case *events.Listener:
		e.ListensTo = targets[access.Target{Kind: access.KindEvent, Type: d.Declaration().Input}]
		if d.IsDeferred() {
			e.Policy = policyOf(d.Policy())
		}
	}
	return e
}

func typeName(t reflect.Type) string {
	if t == nil {
		return ""
	}
	return t.String()
}

func transactionOf(d *usecase.Definition) *Transaction {
	asks := d.Transaction()
	t := Transaction{ReadOnly: asks.ReadOnly, Isolation: isolation(asks.Isolation), ConflictRetries: d.ConflictRetries()}
	if t == (Transaction{}) {
		return nil
	}
	return &t
}

func policyOf(p events.Policy) *Policy {
	group := p.Group
	if group < 2 {
		group = 0
	}
	return &Policy{
		MaxAttempts: p.MaxAttempts, BackoffFirst: p.BackoffFirst.String(), BackoffMax: p.BackoffMax.String(),
		TimeLimit: p.TimeLimit.String(), Group: group, Isolation: isolation(p.Isolation),
	}
}

func isolation(level sql.IsolationLevel) string {
	if level == sql.LevelDefault {
		return ""
	}
	return level.String()
}
