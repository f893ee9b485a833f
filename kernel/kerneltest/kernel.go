package kerneltest

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/jmoiron/sqlx"
	"go.uber.org/dig"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
	"github.com/tidings-go/tidings/persistence/schema"
)

// Kernel is a running app in a test.
type Kernel struct {
	t     testing.TB
	app   *fx.App
	parts kernel.Parts

	container sync.Mutex // the container is not safe for concurrent use

	mu      sync.Mutex
	emitted []events.Emitted
}

// startTimeout bounds the start and the stop of an app in a test.
const startTimeout = time.Minute

// New assembles the app from its modules and options of the kernel, on a fresh
// database with its tables (and those of kernel.DevSchema), and starts it. The
// test fails if that fails. The app is stopped and the database dropped when the
// test ends.
//
// Delivery polls and recovers faster than by default, and logs only what is at
// least a warning, to the test.
func New(t testing.TB, opts ...fx.Option) *Kernel {
	t.Helper()
	k := &Kernel{t: t}
	external := kernel.External{Database: func(_ context.Context, m schema.Model, own []string) (string, error) {
		url := pgtest.Database(t, append(m.DDL(), own...)...)
		t.Cleanup(k.stop) // before the database is dropped
		return url, nil
	}}
	bus := []events.BusOption{events.Observe(k.observe), events.Shuffle(shuffle(t))}
	k.app = fx.New(kernel.Assemble(external, &k.parts, bus, append([]fx.Option{defaults(t)}, opts...)...))
	if err := k.app.Err(); err != nil {
		t.Fatalf("assemble the app: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	t.Cleanup(k.stop)
	if err := k.app.Start(ctx); err != nil {
		t.Fatalf("start the app: %v", err)
	}
	return k
}

// stop may be called twice.
func (k *Kernel) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := k.app.Stop(ctx); err != nil {
		k.t.Errorf("stop the app: %v", err)
	}
	if err := k.parts.Pool.Close(); err != nil {
		k.t.Errorf("close the pool: %v", err)
	}
}

func defaults(t testing.TB) fx.Option {
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	return fx.Options(kernel.LoggerByDefault(log), kernel.Delivery(func(c *delivery.Config) {
		setDefault(&c.Poll, 50*time.Millisecond)
		setDefault(&c.Maintenance, 50*time.Millisecond)
		setDefault(&c.Heartbeat, time.Second)
		setDefault(&c.Workers, 8)
	}))
}

func setDefault[T comparable](to *T, value T) {
	var zero T
	if *to == zero {
		*to = value
	}
}

// shuffle returns a shuffle whose seed is logged if the test fails.
func shuffle(t testing.TB) func(int, func(i, j int)) {
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("order of synchronous listeners: seed %d", seed)
		}
	})
	var mu sync.Mutex
	source := rand.New(rand.NewPCG(seed, 0))
	return func(n int, swap func(i, j int)) {
		mu.Lock()
		defer mu.Unlock()
		source.Shuffle(n, swap)
	}
}

// Replace has every dependency of type T filled with value instead of what the
// app provides, whose constructor then does not run for it.
func Replace[T any](value T) fx.Option {
	return fx.Decorate(func() T { return value })
}

// Get returns the value of type T from the app's container: a handle, an
// emitter, a repository. The test fails if nothing provides it. It is safe for
// concurrent use.
func Get[T any](k *Kernel) T {
	k.t.Helper()
	k.container.Lock()
	defer k.container.Unlock()
	var value T
	if err := container(k.t, k.app).Invoke(func(v T) { value = v }); err != nil {
		k.t.Fatalf("get %v: %v", reflect.TypeFor[T](), err)
	}
	return value
}

// container returns the container of an app. fx gives no way to it after New,
// and a test must not have to name beforehand what it will look at.
func container(t testing.TB, app *fx.App) *dig.Container {
	f := reflect.ValueOf(app).Elem().FieldByName("container")
	if !f.IsValid() || f.Type() != reflect.TypeFor[*dig.Container]() {
		t.Fatal("kerneltest.Get does not know this version of go.uber.org/fx: its App has no field container")
	}
	return *(**dig.Container)(unsafe.Pointer(f.UnsafeAddr()))
}

// DB returns the pool of the app's database, for arranging and asserting by SQL.
func (k *Kernel) DB() *sqlx.DB { return k.parts.Pool }

// AdminURL returns the URL of the app's admin endpoint. The app must have the
// option kernel.AdminAddr("127.0.0.1:0"), which takes a free port.
func (k *Kernel) AdminURL() string {
	k.t.Helper()
	addr := k.parts.AdminAddr()
	if addr == nil {
		k.t.Fatal("the app serves no admin endpoint: give it kernel.AdminAddr")
	}
	return "http://" + addr.String()
}

// Schema returns the schema of the framework's tables.
func (k *Kernel) Schema() string { return k.parts.Schema }

func (k *Kernel) observe(e events.Emitted) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.emitted = append(k.emitted, e)
}

// Emitted returns the events of type T that were emitted in transactions that
// committed, in the order of the commits.
func Emitted[T any](k *Kernel) []T {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []T
	for _, e := range k.emitted {
		if event, ok := e.Event.(T); ok {
			all = append(all, event)
		}
	}
	return all
}
