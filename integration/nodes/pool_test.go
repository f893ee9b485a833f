//go:build unix

package nodes_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/usecase"
)

type (
	none struct{}
	// hog holds its connection for a while, as a slow request does.
	hog struct{ Milliseconds int }
	// count is called by listeners, and by the app as well.
	count     struct{ Seq int64 }
	counted   struct{ Seq int64 }
	countDeps struct{ Counted events.Emitter[counted] }
)

var hogs = []fx.Option{
	usecase.DeclareAction("lab.delivery.Hog", func(ctx context.Context, self access.Self[hog, none]) error {
		_, err := self.Tx.ExecContext(ctx, `SELECT pg_sleep($1 / 1000.0)`, self.Input.Milliseconds)
		return err
	}),
}

var counts = []fx.Option{
	events.Declare[counted]("lab.delivery.Counted"),
	usecase.DeclareAction("lab.delivery.Count", func(ctx context.Context, self access.Self[count, countDeps]) error {
		if err := self.Tx.ExecOne(ctx, `INSERT INTO counted VALUES ($1)`, self.Input.Seq); err != nil {
			return err
		}
		return self.Deps.Counted.Emit(ctx, counted(self.Input))
	}),
	events.Deferred("lab.delivery.Note", func(ctx context.Context, self events.Self[counted, none]) error {
		return self.Tx.ExecOne(ctx, `INSERT INTO noted VALUES ($1)`, self.Event.Seq)
	}),
}

// exact is a plan whose pool has what delivery needs and not a connection more.
func exact(p lab.Plan) lab.Plan {
	p.Connections = p.Delivery.Connections() + 1
	return p
}

// stales notes every renewal that came after the registration had expired.
func stales(base *lab.Base) {
	base.Exec(`CREATE TABLE stale (at timestamptz);
		CREATE FUNCTION note_stale() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF NEW.seen_at > OLD.expires_at THEN INSERT INTO stale VALUES (NEW.seen_at); END IF; RETURN NEW; END $$;
		CREATE TRIGGER note_stale BEFORE UPDATE ON tidings.node FOR EACH ROW EXECUTE FUNCTION note_stale()`)
}

// All workers are busy, and the app takes every connection it can get, for
// several times as long as a registration holds.
func TestAHeartbeatIsNotStarvedByWorkersOrTheApp(t *testing.T) {
	t.Parallel()
	for name, busy := range map[string]int{"workers": 0, "workers and app": 40} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := lab.Plan{Listeners: []lab.Listener{{Name: "A", TimeLimit: time.Minute}}}
			plan.Delivery.Workers, plan.Delivery.Heartbeat = 2, 2*time.Second
			plan = exact(plan)
			open, running := make(chan struct{}), make(chan struct{}, 10)
			plan.Listeners[0].Run = func(ctx context.Context, self lab.Self) error {
				running <- struct{}{}
				select {
				case <-open:
				case <-ctx.Done():
				}
				return lab.Effect(ctx, self)
			}
			var hogging usecase.Action[hog]
			plan.More = append(hogs[:len(hogs):len(hogs)], fx.Populate(&hogging))
			base := lab.NewBase(t, plan)
			stales(base)
			pub := publisher(t, base.URL, plan)
			lab.Start(t, base.URL, plan)
			pub.Put(t, 1, "", "", "", "")
			<-running
			<-running
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for range busy {
				all.Go(func() {
					for ctx.Err() == nil {
						_ = hogging.Execute(ctx, hog{500})
					}
				})
			}
			base.Await(`SELECT bool_or(seen_at > started_at + interval '20 seconds') FROM tidings.node`)
			cancel()
			all.Wait()
			close(open)
			base.AwaitSettled()
			base.Judge(plan.Spec())
			require.Zero(t, base.Int(`SELECT count(*) FROM stale`))
		})
	}
}

// Listeners that call usecases need no second connection; the app's own calls
// compete with them for the same few.
func TestAPoolOfExactlyWhatIsNeededDeadlocksNobody(t *testing.T) {
	t.Parallel()
	const jobs, calls = 100, 10
	type deps struct{ Count usecase.Action[count] }
	plan := lab.Plan{Listeners: []lab.Listener{{Name: "A"}}}
	plan.Delivery.Workers = 3
	plan = exact(plan)
	var counting usecase.Action[count]
	plan.More = append(counts[:len(counts):len(counts)], fx.Populate(&counting),
		events.Deferred("lab.delivery.Relay", func(ctx context.Context, self events.Self[lab.Task, deps]) error {
			return self.Deps.Count.Execute(ctx, count{self.Event.Seq})
		}))
	base := lab.NewBase(t, plan)
	base.Exec(`CREATE TABLE counted (seq bigint); CREATE TABLE noted (seq bigint)`)
	node := lab.Start(t, base.URL, plan)
	var all sync.WaitGroup
	for p := range 16 {
		all.Go(func() {
			for n := range calls {
				if err := counting.Execute(t.Context(), count{int64(1000 + 100*p + n)}); err != nil {
					t.Errorf("call %d of %d: %v", n, p, err)
				}
			}
		})
	}
	for n := range int64(jobs) {
		node.Put(t, n, "")
	}
	all.Wait()
	base.AwaitSettled()
	require.Equal(t, jobs, base.Int(`SELECT count(*) FROM effect`))
	require.Equal(t, jobs+16*calls, base.Int(`SELECT count(*) FROM counted`))
	require.Equal(t, jobs+16*calls, base.Int(`SELECT count(DISTINCT seq) FROM noted`))
	require.Equal(t, jobs+16*calls, base.Int(`SELECT count(*) FROM noted`))
	require.Zero(t, base.Int(`SELECT count(*) FROM tidings.delivery WHERE attempts <> 1`), base.Describe())
	require.NoError(t, node.App.Stop(t.Context()))
	require.Zero(t, node.Pool.Stats().InUse)
}
