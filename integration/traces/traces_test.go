// Package traces proves the OpenTelemetry spans of an app, also across processes.
// The SDK is a dependency of this module alone.
package traces

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/kernel/kerneltest"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
	"github.com/tidings-go/tidings/usecase"
)

// publisherURL tells a child process to publish to this database.
const publisherURL = "TIDINGS_TRACES_PUBLISHER"

func TestMain(m *testing.M) {
	if url := os.Getenv(publisherURL); url != "" {
		os.Exit(publishAlone(url))
	}
	os.Exit(pgtest.Main(m))
}

type (
	none      = struct{}
	Place     struct{ N int }
	Placed    struct{ N int }
	placeDeps struct {
		Price  usecase.Service[Place, int]
		Placed events.Emitter[Placed]
	}
)

var errRemote = errors.New("the remote is down")

func module(mail func(context.Context, events.Self[Placed, none]) error) fx.Option {
	return kernel.Module("shop",
		events.Declare[Placed]("shop.Placed"),
		usecase.DeclareService("shop.Price", func(context.Context, access.Self[Place, none]) (int, error) { return 1, nil }),
		usecase.DeclareAction("shop.Place", func(ctx context.Context, self access.Self[Place, placeDeps]) error {
			_, err := self.Deps.Price.Call(ctx, self.Input)
			return errors.Join(err, self.Deps.Placed.Emit(ctx, Placed(self.Input)))
		}),
		events.Sync("shop.Keep", func(context.Context, events.Self[Placed, none]) error { return nil }),
		events.Deferred("shop.Mail", mail, events.MaxAttempts(2)),
	)
}

func delivered(context.Context, events.Self[Placed, none]) error { return nil }

func recorder() (*tracetest.InMemoryExporter, trace.TracerProvider) {
	exporter := tracetest.NewInMemoryExporter()
	return exporter, sdk.NewTracerProvider(sdk.WithSyncer(exporter))
}

// named waits for the span of this name; attempts of jobs end after what they
// commit can be seen.
func named(t *testing.T, exporter *tracetest.InMemoryExporter, name string, n int) []tracetest.SpanStub {
	t.Helper()
	var found []tracetest.SpanStub
	require.Eventually(t, func() bool {
		found = nil
		for _, s := range exporter.GetSpans() {
			if s.Name == name {
				found = append(found, s)
			}
		}
		return len(found) >= n
	}, time.Minute, 10*time.Millisecond, "%d spans %q", n, name)
	require.Len(t, found, n)
	return found
}

func attributes(s tracetest.SpanStub) map[attribute.Key]string {
	all := map[attribute.Key]string{}
	for _, a := range s.Attributes {
		all[a.Key] = a.Value.String()
	}
	return all
}

func TestAUsecaseItsServiceItsEmitAndItsListenersAreSpans(t *testing.T) {
	t.Parallel()
	exporter, provider := recorder()
	k := kerneltest.New(t, kernel.Tracing(provider), module(delivered))
	request, span := provider.Tracer("test").Start(t.Context(), "request")
	require.NoError(t, kerneltest.Get[usecase.Action[Place]](k).Execute(events.WithCorrelation(request, "request 7"), Place{1}))
	span.End()
	k.Drain()
	place, price, emit := named(t, exporter, "shop.Place", 1)[0], named(t, exporter, "shop.Price", 1)[0], named(t, exporter, "emit shop.Placed", 1)[0]
	keep, mail := named(t, exporter, "shop.Keep", 1)[0], named(t, exporter, "shop.Mail", 1)[0]
	require.Equal(t, span.SpanContext().SpanID(), place.Parent.SpanID())
	require.Equal(t, place.SpanContext.SpanID(), price.Parent.SpanID())
	require.Equal(t, place.SpanContext.SpanID(), emit.Parent.SpanID())
	require.Equal(t, emit.SpanContext.SpanID(), keep.Parent.SpanID(), "a synchronous listener runs inside the emit")
	require.Equal(t, trace.SpanKindProducer, emit.SpanKind)
	require.Equal(t, "ok", attributes(place)["tidings.outcome"])

	require.Equal(t, trace.SpanKindConsumer, mail.SpanKind)
	require.False(t, mail.Parent.IsValid(), "a deferred listener's span begins a trace of its own")
	require.NotEqual(t, emit.SpanContext.TraceID(), mail.SpanContext.TraceID())
	require.Len(t, mail.Links, 1)
	require.Equal(t, emit.SpanContext.SpanID(), mail.Links[0].SpanContext.SpanID(), "and links to its publisher")
	require.Equal(t, emit.SpanContext.TraceID(), mail.Links[0].SpanContext.TraceID())
	has := attributes(mail)
	require.Equal(t, "request 7", has["tidings.correlation"])
	require.Equal(t, "shop.Placed", has["tidings.event"])
	require.Equal(t, "1", has["tidings.attempt"])
	require.Equal(t, "completed", has["tidings.outcome"])
	require.NotEmpty(t, has["tidings.event.id"])
	require.Equal(t, attributes(keep)["tidings.event.id"], has["tidings.event.id"])
}

func TestEveryAttemptIsASpanAndAFailedOneSaysSo(t *testing.T) {
	t.Parallel()
	exporter, provider := recorder()
	k := kerneltest.New(t, fx.Provide(func() trace.TracerProvider { return provider }), // from the container
		module(func(context.Context, events.Self[Placed, none]) error { return errRemote }))
	require.NoError(t, kerneltest.Get[usecase.Action[Place]](k).Execute(t.Context(), Place{1}))
	k.Drain()
	attempts := named(t, exporter, "shop.Mail", 2)
	outcomes := map[string]string{}
	for _, a := range attempts {
		require.Equal(t, codes.Error, a.Status.Code)
		require.Len(t, a.Links, 1)
		require.Len(t, a.Events, 1, "the error is recorded")
		outcomes[attributes(a)["tidings.attempt"]] = attributes(a)["tidings.outcome"]
	}
	require.Equal(t, map[string]string{"1": "retried", "2": "failed"}, outcomes)
}

// published is what the child process says of its emit.
type published struct{ Trace, Span string }

// TestADeferredListenersSpanLinksToItsPublisherInAnotherProcess: the publisher is
// a process of its own that has ended before the listener runs.
func TestADeferredListenersSpanLinksToItsPublisherInAnotherProcess(t *testing.T) {
	t.Parallel()
	ddl, err := kernel.DDL(module(delivered))
	require.NoError(t, err)
	url := pgtest.Database(t, ddl...)
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), publisherURL+"="+url)
	child.Stderr = os.Stderr
	out, err := child.Output()
	require.NoError(t, err)
	var said published
	require.NoError(t, json.Unmarshal(out, &said), "%s", out)

	exporter, provider := recorder()
	db, err := sqlx.Open("postgres", url)
	require.NoError(t, err)
	defer db.Close()
	var stored string
	require.NoError(t, db.Get(&stored, `SELECT "@trace" FROM shop."@event:Placed"`))
	require.Equal(t, "00-"+said.Trace+"-"+said.Span+"-01", stored, "the W3C form")
	kerneltest.New(t, kernel.Database(db), kernel.Tracing(provider), module(delivered))
	mail := named(t, exporter, "shop.Mail", 1)[0]
	require.Len(t, mail.Links, 1)
	require.True(t, mail.Links[0].SpanContext.IsRemote())
	require.Equal(t, said, published{mail.Links[0].SpanContext.TraceID().String(), mail.Links[0].SpanContext.SpanID().String()})
}

func publishAlone(url string) int {
	exporter, provider := recorder()
	db, err := sqlx.Open("postgres", url)
	if err != nil {
		panic(err)
	}
	defer db.Close()
	var place usecase.Action[Place]
	app := fx.New(fx.NopLogger, kernel.Options(kernel.Database(db), kernel.PublishOnly(), kernel.Tracing(provider)), module(delivered), fx.Populate(&place))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := errors.Join(app.Start(ctx), place.Execute(ctx, Place{1}), app.Stop(ctx)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, s := range exporter.GetSpans() {
		if s.Name == "emit shop.Placed" {
			_ = json.NewEncoder(os.Stdout).Encode(published{s.SpanContext.TraceID().String(), s.SpanContext.SpanID().String()})
		}
	}
	return 0
}
