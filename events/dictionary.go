package events

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/persistence/schema"
)

// registerType and registerListener answer with the number of a name, after
// adding it where it is new. The UPDATE that changes nothing makes RETURNING
// answer for an old row too; it is written only at boot.
const (
	registerType = `INSERT INTO %[1]s.event_type AS t (name) VALUES ($1)
ON CONFLICT (name) DO UPDATE SET name = t.name
RETURNING id`
	registerListener = `INSERT INTO %[1]s.listener AS l (event_type_id, name) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET name = l.name
RETURNING id, event_type_id`
	findType     = `SELECT id FROM %[1]s.event_type WHERE name = $1`
	findListener = `SELECT id, event_type_id FROM %[1]s.listener WHERE name = $1`
)

// Open fills the dictionaries, prepares the statements and lets events pass.
// Call it when the app starts; again is no error.
func (b *Bus) Open(ctx context.Context) error {
	err := b.db.Required(ctx, persistence.TxOptions{}, func(ctx context.Context, t *persistence.Transaction) error {
		for _, c := range b.sorted() {
			if err := b.register(ctx, t, c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("register events and listeners: %w", err)
	}
	for _, c := range b.types {
		if !c.stores() {
			continue
		}
		for _, s := range c.store.statements() {
			if err := s.Prepare(ctx); err != nil {
				return fmt.Errorf("event %s: %w", c.typ.decl.Identity, err)
			}
		}
	}
	b.open.Store(true)
	return nil
}

// IsOpen says whether events pass.
func (b *Bus) IsOpen() bool { return b.open.Load() }

// Close lets no event pass any more.
func (b *Bus) Close() { b.open.Store(false) }

// sorted returns the types by identity: nodes that boot at once then lock the
// dictionaries' rows in one order.
func (b *Bus) sorted() []*channel {
	all := make([]*channel, 0, len(b.types))
	for _, c := range b.types {
		all = append(all, c)
	}
	slices.SortFunc(all, func(x, y *channel) int {
		return strings.Compare(x.typ.decl.Identity, y.typ.decl.Identity)
	})
	return all
}

func (b *Bus) register(ctx context.Context, t *persistence.Transaction, c *channel) error {
	framework := schema.Quote(b.framework)
	err := t.QueryRowxContext(ctx, fmt.Sprintf(findType, framework), c.typ.decl.Identity).Scan(&c.id)
	if errors.Is(err, sql.ErrNoRows) {
		err = t.QueryRowxContext(ctx, fmt.Sprintf(registerType, framework), c.typ.decl.Identity).Scan(&c.id)
	}
	if err != nil {
		return fmt.Errorf("event %s: %w", c.typ.decl.Identity, err)
	}
	ids := make([]string, len(c.deferred))
	c.wakes = make([]int32, len(c.deferred))
	for i, s := range c.deferred {
		var typeID int32
		identity := s.Listener.decl.Identity
		err := t.QueryRowxContext(ctx, fmt.Sprintf(findListener, framework), identity).Scan(&s.ID, &typeID)
		if errors.Is(err, sql.ErrNoRows) {
			err = t.QueryRowxContext(ctx, fmt.Sprintf(registerListener, framework), c.id, identity).Scan(&s.ID, &typeID)
		}
		if err != nil {
			return fmt.Errorf("listener %s: %w", identity, err)
		}
		if typeID != c.id {
			return fmt.Errorf("listener %s (%s) listens to %s, but its stored jobs are of another event: "+
				"give it a new identity", identity, s.Listener.decl.Source, c.typ.decl.Identity)
		}
		ids[i], c.wakes[i] = strconv.Itoa(int(s.ID)), s.ID
	}
	c.listeners = "{" + strings.Join(ids, ",") + "}"
	return nil
}

// checkText returns an error for what PostgreSQL's text cannot hold.
func checkText(s string) error {
	if strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
		return fmt.Errorf("%q holds NUL or invalid UTF-8", s)
	}
	return nil
}
