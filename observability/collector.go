package observability

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidings-go/tidings/delivery"
	"github.com/tidings-go/tidings/events"
)

// scrapeTimeout bounds what a scrape asks of the database; Prometheus itself
// gives up after ten seconds by default.
const scrapeTimeout = 5 * time.Second

// How long what was read from the database serves further scrapes: several
// scrapers then cost one read, and a database that is down is not asked by each.
const (
	cacheFor      = 3 * time.Second
	cacheErrorFor = time.Second
)

// StateBlocked is the state of ready and waiting jobs of a listener that no live
// node has, as the view tidings.jobs and the metrics show it.
const StateBlocked = "BLOCKED"

// Source is where gauges are read.
type Source struct {
	// Backlog reads the jobs from the database.
	Backlog func(context.Context) (delivery.Backlog, error)
	// Workers returns how many workers of this process are busy, and how many it
	// has.
	Workers func() (busy, all int)
	// Up says why this process does not do its work, or nil.
	Up func() error
}

// gauges read a Source at every scrape.
type gauges struct {
	source    Source
	listeners []string // declared here: they have their series also before the first job

	queueAge, oldest, jobs, nodes, snapshot, workers, up *prometheus.Desc

	mu       sync.Mutex
	read     delivery.Backlog
	readErr  error
	validFor time.Time
}

func newGauges() *gauges {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &gauges{
		queueAge: desc("tidings_delivery_queue_age_seconds",
			"How long the oldest due job of the listener has been due without being claimed; 0 when none is.", "listener"),
		oldest: desc("tidings_delivery_oldest_unfinished_seconds",
			"Age of the listener's oldest job that is neither completed, failed nor cancelled; 0 when there is none.", "listener"),
		jobs: desc("tidings_delivery_jobs",
			"Jobs of the listener that are not over, or failed, by state.", "listener", "state"),
		nodes: desc("tidings_delivery_live_nodes",
			"Live nodes that deliver to the listener; without one its jobs are blocked.", "listener"),
		snapshot: desc("tidings_database_oldest_snapshot_seconds",
			"Age of the oldest transaction in the database, which holds back vacuum."),
		workers: desc("tidings_delivery_workers", "Workers of this process by state.", "state"),
		up: desc("tidings_node_up",
			"1 while this process can do its work: the database answers, its registration is fresh and its claimer alive; else 0."),
	}
}

func (g *gauges) describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.queueAge, g.oldest, g.jobs, g.nodes, g.snapshot, g.workers, g.up} {
		ch <- d
	}
}

func (g *gauges) collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	busy, all := g.source.Workers()
	gauge(g.workers, float64(busy), "busy")
	gauge(g.workers, float64(all-busy), "idle")
	log, err := g.backlog()
	if err != nil || g.source.Up() != nil {
		gauge(g.up, 0)
	} else {
		gauge(g.up, 1)
	}
	if err != nil { // no value is better than a wrong one
		ch <- prometheus.NewInvalidMetric(g.queueAge, err)
		return
	}
	gauge(g.snapshot, log.OldestSnapshot.Seconds())
	for _, l := range g.shown(log) {
		gauge(g.queueAge, l.QueueAge.Seconds(), l.Listener)
		gauge(g.oldest, l.OldestUnfinished.Seconds(), l.Listener)
		gauge(g.nodes, float64(l.Nodes), l.Listener)
		for state, n := range States(l) {
			gauge(g.jobs, float64(n), l.Listener, state)
		}
	}
}

// shown returns the declared listeners, and those that nobody declares here but
// that still have jobs which are not over: they are what an operator must see.
func (g *gauges) shown(log delivery.Backlog) []delivery.ListenerBacklog {
	found := map[string]delivery.ListenerBacklog{}
	for _, l := range log.Listeners {
		found[l.Listener] = l
	}
	var all []delivery.ListenerBacklog
	for _, name := range g.listeners {
		l := found[name]
		l.Listener = name
		all = append(all, l)
		delete(found, name)
	}
	for _, l := range log.Listeners {
		if _, other := found[l.Listener]; other && l.Ready+l.Waiting+l.Claimed+l.Failed > 0 {
			all = append(all, l)
		}
	}
	return all
}

// States returns the jobs of a listener by the state that the view tidings.jobs
// shows.
func States(l delivery.ListenerBacklog) map[string]int64 {
	s := map[string]int64{
		events.StateReady: l.Ready, events.StateWaiting: l.Waiting, events.StateClaimed: l.Claimed,
		events.StateFailed: l.Failed, StateBlocked: 0,
	}
	if l.Nodes == 0 {
		s[events.StateReady], s[events.StateWaiting], s[StateBlocked] = 0, 0, l.Ready+l.Waiting
	}
	return s
}

// backlog returns what was read a moment ago, or reads it.
func (g *gauges) backlog() (delivery.Backlog, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Now().Before(g.validFor) {
		return g.read, g.readErr
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	g.read, g.readErr = g.source.Backlog(ctx)
	wait := cacheFor
	if g.readErr != nil {
		wait = cacheErrorFor
	}
	g.validFor = time.Now().Add(wait)
	return g.read, g.readErr
}
