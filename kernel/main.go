package kernel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"github.com/tidings-go/tidings/boot"
)

// Exit codes of the program that Main runs: ExitUsage for a command line that
// does not fit, ExitFindings where doctor ran and found problems, ExitError for
// every other error.
const (
	ExitOK       = 0
	ExitError    = 1
	ExitUsage    = 2
	ExitFindings = 3
)

// Main runs a whole program around the app's modules and ends the process: its
// command serve runs the app, schema is about its tables, catalogue, config, nodes
// and doctor show what it declares, how it is set, who delivers and what is wrong;
// kernel.Command adds commands of the app's own. Options of the kernel may stand
// among the modules.
func Main(opts ...fx.Option) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Run(ctx, os.Args[1:], os.Stdout, os.Stderr, opts...)
	stop()
	os.Exit(code)
}

// Run is Main with its surroundings as arguments; it returns the exit code.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer, opts ...fx.Option) int {
	root := &cobra.Command{
		Use: "app", Short: "An application on the Tidings kernel", SilenceUsage: true, SilenceErrors: true,
	}
	if len(os.Args) > 0 {
		root.Use = commandName(os.Args[0])
	}
	root.AddCommand(serveCommand(opts), schemaCommand(opts), renameCommand(opts),
		catalogueCommand(opts), configCommand(opts), doctorCommand(opts), nodesCommand(opts))
	root.AddCommand(commandsOf(opts)...)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	_, _, err := root.Find(args) // an unknown command
	if err != nil {
		err = usageError{err}
	} else {
		err = root.ExecuteContext(ctx)
	}
	if err == nil {
		return ExitOK
	}
	if wrong := (configurationError{}); errors.As(err, &wrong) {
		err = wrong
	}
	fmt.Fprintln(stderr, "error:", err)
	switch {
	case errors.As(err, new(usageError)):
		return ExitUsage
	case errors.Is(err, errFindings):
		return ExitFindings
	}
	return ExitError
}

// usageError is an error of the command line itself.
type usageError struct{ error }

func noArguments(c *cobra.Command, args []string) error {
	if err := cobra.NoArgs(c, args); err != nil {
		return usageError{err}
	}
	return nil
}

func commandName(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if os.IsPathSeparator(path[i]) {
			return path[i+1:]
		}
	}
	return path
}

// commandsOf returns the commands that options add, in modules too.
func commandsOf(opts []fx.Option) []*cobra.Command {
	var commands []*cobra.Command
	for _, o := range opts {
		switch o := o.(type) {
		case Option:
			s := &settings{}
			_ = o.set(s) // its error comes again when the app is assembled
			commands = append(commands, s.commands...)
		case module:
			commands = append(commands, commandsOf(o.parts)...)
		}
	}
	return commands
}

func serveCommand(opts []fx.Option) *cobra.Command {
	var flags boot.Config
	c := &cobra.Command{
		Use: "serve", Short: "Run the app until it is stopped", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkFlags(c, flags); err != nil {
				return err
			}
			return serve(c.Context(), flags, opts)
		},
	}
	serveFlags(c, &flags)
	return c
}

// serveFlags gives c the flags that override the configuration.
func serveFlags(c *cobra.Command, flags *boot.Config) {
	f := c.Flags()
	f.BoolVar(&flags.Dev, "dev", false, "run on the embedded development PostgreSQL (TIDINGS_DEV)")
	f.StringVar(&flags.DevDir, "dev-dir", "", "its data folder (TIDINGS_DEV_DIR, default "+boot.DefaultDevDir+")")
	f.StringVar(&flags.AdminAddr, "admin-addr", "", "where to serve health and metrics, or off (TIDINGS_ADMIN_ADDR, default "+boot.DefaultAdminAddr+")")
	f.IntVar(&flags.Delivery.Workers, "workers", 0, "how many listeners run at once (TIDINGS_WORKERS, default 4 × GOMAXPROCS)")
}

func checkFlags(c *cobra.Command, flags boot.Config) error {
	if n := flags.Delivery.Workers; n < 1 && c.Flags().Changed("workers") {
		return usageError{fmt.Errorf("--workers=%d: want a positive number", n)}
	}
	return nil
}

// overrides applies the flags that were given.
func overrides(flags boot.Config) func(*boot.Config) {
	return func(c *boot.Config) {
		c.Dev = c.Dev || flags.Dev
		if flags.DevDir != "" {
			c.DevDir = flags.DevDir
		}
		if flags.AdminAddr != "" {
			c.AdminAddr = flags.AdminAddr
		}
		if flags.Delivery.Workers > 0 {
			c.Delivery.Workers = flags.Delivery.Workers
		}
	}
}

func withFlags(flags boot.Config) Option {
	return option(func(s *settings) error {
		s.flags = overrides(flags)
		return nil
	})
}

// serve runs the app until ctx is done, or a part of it asks for the shutdown.
func serve(ctx context.Context, flags boot.Config, opts []fx.Option) error {
	var k *kernel
	app := fx.New(
		core(), Distinct(opts...), withFlags(flags), Admin(), fx.Populate(&k), quiet(),
		fx.StartTimeout(time.Minute), fx.StopTimeout(time.Hour), // the true one below
	)
	if err := app.Err(); err != nil {
		return err
	}
	defer k.discard()
	watch, unwatch := context.WithCancel(ctx)
	defer unwatch()
	gone := orphaned(watch, k.config.Dev)
	start, cancel := startContext(ctx)
	defer cancel()
	if err := app.Start(start); err != nil {
		return err
	}
	k.logger.InfoContext(ctx, "app started", k.config.LogAttrs()...)
	var err error
	select {
	case <-ctx.Done():
	case s := <-app.Wait():
		if s.ExitCode != 0 {
			err = fmt.Errorf("the app shut itself down with exit code %d", s.ExitCode)
		}
	case <-gone:
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.config.Delivery.Grace+stopMargin)
	defer cancel()
	if e := app.Stop(stop); e != nil {
		return e
	}
	return err
}

// Time-outs of a start: by itself, and once the app has been told to stop.
const (
	startTimeout = time.Minute
	startGrace   = 5 * time.Second
)

// startContext returns the context of a start. One that is told to stop may
// finish: fx stops nothing in order where the context of a start has ended.
func startContext(ctx context.Context) (context.Context, context.CancelFunc) {
	start, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	context.AfterFunc(ctx, func() { time.AfterFunc(startGrace, cancel) })
	return start, cancel
}

// stopMargin is what a stop has beyond the grace period of running listeners:
// for rolling back, and for the app's own hooks.
const stopMargin = 15 * time.Second

// quiet has fx log at debug level: what matters of it comes back as errors. It
// works with wrong settings too, which fx would answer with all that it logged.
func quiet() fx.Option {
	return fx.WithLogger(func(in settingsIn) fxevent.Logger {
		s, _ := in.apply()
		l := &fxevent.SlogLogger{Logger: s.logger}
		l.UseLogLevel(slog.LevelDebug)
		l.UseErrorLevel(slog.LevelDebug)
		return l
	})
}

// orphaned is closed when the parent process has gone: a signal to `go run`
// leaves its child running. It watches in development alone.
func orphaned(ctx context.Context, dev bool) <-chan struct{} {
	gone := make(chan struct{})
	if !dev {
		return gone
	}
	parent := os.Getppid()
	go func() {
		ticker := time.NewTicker(500 * time.Millisecond)
		defer ticker.Stop()
		for os.Getppid() == parent {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
		close(gone)
	}()
	return gone
}
