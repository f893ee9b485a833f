package demo

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidings-go/tidings/kernel"
)

// errBooks is what the demo ends with if something was lost or happened twice.
var errBooks = errors.New("the books do not balance: see above")

// cleanupTimeout bounds how long the demo takes to end what it started.
const cleanupTimeout = 20 * time.Second

// Command returns the command demo.
func Command() kernel.Option {
	var o options
	c := &cobra.Command{
		Use: "demo", Short: "Play a day on a temporary PostgreSQL and check the books", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			// A reader that left, such as head, must not end the demo before it
			// has cleaned up: the write fails instead, and that ends the day.
			signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
			ctx, cancel := context.WithCancelCause(c.Context())
			defer cancel(nil)
			err := play(ctx, newStory(c.OutOrStdout(), cancel), o)
			if cause := context.Cause(ctx); cause != nil && !errors.Is(err, errBooks) {
				return errors.Join(errors.New("the demo was interrupted; what it had started is gone"), unlessCanceled(cause))
			}
			return err
		},
	}
	c.Flags().BoolVar(&o.json, "json", false, "end with the counts as one JSON object on the last line")
	c.Flags().StringVar(&o.tamper, "tamper", "", "run this SQL before the books are checked, to see that the check sees it")
	_ = c.Flags().MarkHidden("tamper")
	return kernel.Command(c)
}

// options are the flags of the command.
type options struct {
	json   bool
	tamper string
}

func unlessCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
