package kernel

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/persistence/migrate"
	"github.com/tidings-go/tidings/persistence/schema"
)

func renameCommand(opts []fx.Option) *cobra.Command {
	c := &cobra.Command{Use: "rename", Short: "Write a migration candidate that gives stored jobs and events another identity"}
	c.AddCommand(renameOne(opts, "listener"), renameOne(opts, "event"))
	return c
}

func renameOne(opts []fx.Option, kind string) *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use: kind + " OLD NEW", Short: "Rename " + map[string]string{"listener": "a listener", "event": "an event"}[kind] + ", after its declaration has the new identity",
		Args: func(c *cobra.Command, args []string) error {
			if err := cobra.ExactArgs(2)(c, args); err != nil {
				return usageError{err}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			app, err := describe(false, opts)
			if err != nil {
				return err
			}
			defer app.discard()
			from, to := args[0], args[1]
			if err := app.renamable(kind, from, to); err != nil {
				return err
			}
			if f.name == "" {
				f.name = "rename_" + kind + "_" + strings.ToLower(unfit.ReplaceAllString(to, "_"))
			}
			change := renameChange(app.framework(), kind, from, to)
			if kind == "listener" {
				return f.write(c, app, nil, []migrate.Change{change})
			}
			return f.write(c, app, func(last schema.Model) []schema.Rename { return eventRenames(last, from, to) }, []migrate.Change{change})
		},
	}
	f.add(c)
	return c
}

// unfit are characters that a candidate's name does not have.
var unfit = regexp.MustCompile(`[^A-Za-z0-9]+`)

// renamable reports what is wrong with a rename by the declarations.
func (d *described) renamable(kind, from, to string) error {
	var declared []string
	if kind == "listener" {
		for _, s := range d.bus.Deferred() {
			declared = append(declared, s.Listener.Declaration().Identity)
		}
	} else {
		for _, t := range d.types {
			declared = append(declared, t.Declaration().Identity)
		}
	}
	switch {
	case slices.Contains(declared, from):
		return fmt.Errorf("%s %s is still declared: change its identity in the code first", kind, from)
	case !slices.Contains(declared, to):
		return fmt.Errorf("no %s %s is declared: change the identity in the code first; declared are %s", kind, to, strings.Join(declared, ", "))
	case !strings.Contains(from, "."):
		return errors.New("an identity is a namespace and a name joined by a dot, such as example.delivery.StopMoved")
	}
	return nil
}

// eventRenames are the renames of the tables that hold the events.
func eventRenames(last schema.Model, from, to string) []schema.Rename {
	cut := func(identity string) (string, string) {
		dot := strings.LastIndexByte(identity, '.')
		return identity[:dot], identity[dot+1:]
	}
	namespace, event := cut(from)
	toNamespace, toEvent := cut(to)
	var renames []schema.Rename
	for _, t := range last.Tables {
		if t.Schema == namespace && ofEvent(t.Name, event) {
			rest := strings.TrimPrefix(t.Name, eventTable(event))
			renames = append(renames, schema.RenameTable(t.Schema, t.Name, toNamespace, eventTable(toEvent)+rest))
		}
	}
	return renames
}

// dictionaryRename gives a dictionary's row another name. %[1]s is the
// dictionary, %[2]s and %[3]s are the names as literals, %[4]s is true where
// something refers to the number tidings_new.
const dictionaryRename = `DO $rename$
DECLARE
	tidings_old integer := (SELECT id FROM %[1]s WHERE name = %[2]s);
	tidings_new integer := (SELECT id FROM %[1]s WHERE name = %[3]s);
BEGIN
	IF tidings_old IS NULL THEN
		RAISE NOTICE USING MESSAGE = 'nothing to rename: never stored: ' || %[2]s;
		RETURN;
	END IF;
	IF tidings_new IS NOT NULL THEN
		-- A node has already started with the new name.
		IF %[4]s THEN
			RAISE EXCEPTION USING MESSAGE = 'already in use, so it cannot be the new name: ' || %[3]s,
				HINT = 'Stop the nodes that run under the new name. If they have stored jobs or listeners under it, the two cannot be told apart any more: keep both names.';
		END IF;
		DELETE FROM %[1]s WHERE id = tidings_new;
	END IF;
	UPDATE %[1]s SET name = %[3]s WHERE id = tidings_old;
END
$rename$`

func renameChange(framework, kind, from, to string) migrate.Change {
	dictionary := schema.Qualified(framework, map[string]string{"listener": "listener", "event": "event_type"}[kind])
	used := fmt.Sprintf(`EXISTS (SELECT FROM %[1]s WHERE listener_id = tidings_new)
			OR EXISTS (SELECT FROM %[2]s WHERE expires_at > clock_timestamp() AND tidings_new = ANY (listeners))`,
		schema.Qualified(framework, "delivery"), schema.Qualified(framework, "node"))
	if kind == "event" {
		used = fmt.Sprintf(`EXISTS (SELECT FROM %[1]s WHERE event_type_id = tidings_new) OR EXISTS (SELECT FROM %[2]s WHERE event_type_id = tidings_new)`,
			schema.Qualified(framework, "delivery"), schema.Qualified(framework, "listener"))
	}
	statement := func(from, to string) string {
		return fmt.Sprintf(dictionaryRename, dictionary, schema.Literal(from), schema.Literal(to), used)
	}
	keys := ""
	if kind == "listener" {
		keys = "The idempotency key ends in the listener's name, so it changes: an effect that an earlier attempt made outside can be made again. "
	}
	return migrate.Change{
		Step: schema.Step{
			Risk: schema.DataDependent, Title: fmt.Sprintf("rename %s %s to %s", kind, from, to),
			Rows: "of the dictionary: one gets the new name. Jobs refer to it by number: outstanding ones go on under the new name with the attempts they have had. " + keys +
				"Nodes of before that start again after this store under the old name: replace them all.",
			Locks:      "one row of the dictionary, for a moment.",
			Look:       fmt.Sprintf("SELECT id, name FROM %s WHERE name IN (%s, %s)", dictionary, schema.Literal(from), schema.Literal(to)),
			Statements: []string{statement(from, to)},
		},
		Down: []string{statement(to, from)},
	}
}
