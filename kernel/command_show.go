package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/spf13/cobra"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/boot"
	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/observability/catalogue"
	"github.com/tidings-go/tidings/persistence/pgserver"
)

func catalogueCommand(opts []fx.Option) *cobra.Command {
	var mermaid, dot, asJSON bool
	c := &cobra.Command{
		Use: "catalogue", Short: "Show what the app declares, and draw its flow", Args: noArguments,
		Long: "Show the usecases, services, events and listeners of the app, where they and their functions are written,\n" +
			"and who calls, emits and listens to what. It needs no database.",
		RunE: func(c *cobra.Command, _ []string) error {
			app, err := describe(false, opts)
			if err != nil {
				return err
			}
			defer app.discard()
			all := catalogue.New(app.all)
			switch {
			case mermaid:
				return all.Mermaid(c.OutOrStdout())
			case dot:
				return all.DOT(c.OutOrStdout())
			case asJSON:
				return printPlain(c.OutOrStdout(), all)
			}
			return all.Text(c.OutOrStdout())
		},
	}
	c.Flags().BoolVar(&mermaid, "mermaid", false, "draw the flow as a Mermaid flowchart")
	c.Flags().BoolVar(&dot, "dot", false, "draw the flow for Graphviz")
	jsonFlag(c, &asJSON)
	oneOf(c, "mermaid", "dot", "json")
	return c
}

// oneOf refuses more than one of the flags.
func oneOf(c *cobra.Command, names ...string) {
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		var given []string
		for _, name := range names {
			if c.Flags().Changed(name) {
				given = append(given, "--"+name)
			}
		}
		if len(given) > 1 {
			return usageError{fmt.Errorf("%s: want one of them", strings.Join(given, ", "))}
		}
		return nil
	}
}

// printPlain prints v as JSON.
func printPlain(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func configCommand(opts []fx.Option) *cobra.Command {
	var flags boot.Config
	var asJSON bool
	c := &cobra.Command{
		Use: "config", Short: "Show the effective settings and where each comes from", Args: noArguments,
		Long: "Show the settings that serve would run with, from flags, environment, code and defaults, without secrets.\n" +
			"It takes serve's flags and needs no database.",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkFlags(c, flags); err != nil {
				return err
			}
			var k *kernel
			look := option(func(s *settings) error {
				s.inspect = true
				return nil
			})
			if err := fx.New(core(), Distinct(opts...), withFlags(flags), look, quiet(), fx.Populate(&k)).Err(); err != nil {
				return err
			}
			defer k.discard()
			all := k.config.Settings(k.settings.config, k.environment, c.Flags().Changed)
			if asJSON {
				return printPlain(c.OutOrStdout(), map[string]any{"settings": all, "schema": k.config.Delivery.Schema})
			}
			return printSettings(c.OutOrStdout(), all, k)
		},
	}
	serveFlags(c, &flags)
	jsonFlag(c, &asJSON)
	return c
}

func printSettings(w io.Writer, all []boot.Setting, k *kernel) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SETTING\tVALUE\tSOURCE")
	for _, s := range all {
		value := s.Value
		if value == "" {
			value = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", s.Variable, value, s.Source)
	}
	fmt.Fprintf(t, "kernel.Schema\t%s\t%s\n", k.config.Delivery.Schema, source(k.schemaSet))
	if k.database != nil {
		fmt.Fprintf(t, "kernel.Database\tthe app's own pool: DATABASE_URL and TIDINGS_POOL_SIZE are not used\t%s\n", boot.SourceCode)
	}
	return t.Flush()
}

func source(inCode bool) string {
	if inCode {
		return boot.SourceCode
	}
	return boot.SourceDefault
}

func nodesCommand(opts []fx.Option) *cobra.Command {
	var dev, asJSON bool
	c := &cobra.Command{
		Use: "nodes", Short: "List the nodes that deliver, and listeners that none has", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			app, err := describe(dev, opts)
			if err != nil {
				return err
			}
			defer app.discard()
			return app.connected(c.Context(), func(db *sqlx.DB) error {
				var nodes []delivery.Node
				err := progress(c.ErrOrStderr(), "asking the database", func() (err error) {
					nodes, err = delivery.Nodes(c.Context(), db, app.framework())
					return err
				})
				if err != nil {
					return err
				}
				without := app.without(nodes)
				if asJSON {
					return printPlain(c.OutOrStdout(), map[string]any{"nodes": nodes, "listeners_without_live_node": without})
				}
				return printNodes(c.OutOrStdout(), nodes, without)
			})
		},
	}
	devFlag(c, &dev, "look at the embedded development PostgreSQL")
	jsonFlag(c, &asJSON)
	return c
}

// without returns the declared deferred listeners that no live node has.
func (d *described) without(nodes []delivery.Node) []string {
	missing := []string{}
	for _, l := range d.all {
		l := l.Declaration()
		if l.Kind == access.KindDeferredListener && !slices.ContainsFunc(nodes, func(n delivery.Node) bool {
			return n.Live && slices.Contains(n.Listeners, l.Identity)
		}) {
			missing = append(missing, l.Identity)
		}
	}
	slices.Sort(missing)
	return missing
}

func printNodes(w io.Writer, nodes []delivery.Node, without []string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NODE\tSTATE\tSEEN\tUP SINCE\tPROGRAM\tLISTENERS")
	for _, n := range nodes {
		state := "dead"
		if n.Live {
			state = "live"
		}
		seen := time.Duration(n.SeenSeconds * float64(time.Second)).Round(time.Second)
		fmt.Fprintf(t, "%s\t%s\t%v ago\t%s\t%.8s\t%d\n", n.Name, state, seen, n.Started.UTC().Format(time.RFC3339), n.Model, len(n.Listeners))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(nodes) == 0 {
		fmt.Fprintln(w, "No node is registered.")
	}
	for _, l := range without {
		fmt.Fprintf(w, "No live node has %s: its jobs are blocked.\n", l)
	}
	return nil
}

// devDatabase returns the URL of the development database: of a server that
// another process runs on the folder, or of one that it starts; end stops that.
func devDatabase(ctx context.Context, dir string) (url string, end func(), err error) {
	server, url, err := boot.StartDev(ctx, dir)
	if errors.Is(err, pgserver.ErrInUse) {
		url, err = boot.RunningDev(dir)
		return url, func() {}, err
	}
	if err != nil {
		return "", nil, err
	}
	return url, func() { _ = server.Stop(context.WithoutCancel(ctx)) }, nil // the process ends it in any case
}
