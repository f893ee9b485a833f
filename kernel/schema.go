package kernel

import (
	"fmt"

	"github.com/spf13/cobra"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/boot"
)

func schemaCommand(opts []fx.Option) *cobra.Command {
	c := &cobra.Command{Use: "schema", Short: "The tables that the app's declarations need"}
	c.AddCommand(&cobra.Command{
		Use: "show", Short: "Print the statements that make the tables in an empty database", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			ddl, err := DDL(opts...)
			if err != nil {
				return err
			}
			for _, statement := range ddl {
				fmt.Fprintf(c.OutOrStdout(), "%s;\n\n", statement)
			}
			return nil
		},
	}, planCommand(opts), checkCommand(opts), applyCommand(opts), historyCommand(opts))
	return c
}

// DDL returns the statements that make the tables which the declarations of an
// app need, in an empty database. It assembles the app from its modules without
// starting it: no database is needed.
func DDL(opts ...fx.Option) ([]string, error) {
	var k *kernel
	offline := option(func(s *settings) error {
		s.flags = func(c *boot.Config) { c.Dev = true } // a pool that nothing connects
		return nil
	})
	app := fx.New(core(), Distinct(opts...), offline, fx.Populate(&k), quiet())
	if err := app.Err(); err != nil {
		return nil, err
	}
	defer k.discard()
	return model(k.bus, k.config.Delivery.Schema).DDL(), nil
}
