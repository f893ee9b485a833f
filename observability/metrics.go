package observability

import (
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidings-go/tidings/access"
	"github.com/tidings-go/tidings/delivery"
)

// Buckets in seconds: of what runs in a transaction, which should end within
// milliseconds and has time limits of half a minute, and of how long a job
// waited to start, which in an incident is hours.
var (
	workBuckets  = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	delayBuckets = []float64{.001, .0025, .005, .01, .05, .1, .5, 1, 5, 30, 60, 300, 900, 3600, 14400}
)

// counters tell what this process did.
type counters struct {
	attempts     *prometheus.CounterVec   // listener, outcome
	duration     *prometheus.HistogramVec // listener
	startDelay   *prometheus.HistogramVec // listener
	syncDuration *prometheus.HistogramVec // listener
	usecases     *prometheus.HistogramVec // usecase, outcome
	emitted      *prometheus.CounterVec   // event
	fenced       prometheus.Counter
	leaseLosses  prometheus.Counter
	build        prometheus.Gauge
}

func newCounters() *counters {
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	return &counters{
		attempts: counter("tidings_delivery_attempts_total",
			"Delivery attempts that ended in this process, by outcome.", "listener", "outcome"),
		duration: histogram("tidings_delivery_duration_seconds",
			"How long delivery attempts took, from BEGIN to the recorded outcome; in a group, to that of the group.", workBuckets, "listener"),
		startDelay: histogram("tidings_delivery_start_delay_seconds",
			"How long jobs had been due when an attempt started.", delayBuckets, "listener"),
		syncDuration: histogram("tidings_sync_duration_seconds",
			"How long synchronous listeners took.", workBuckets, "listener"),
		usecases: histogram("tidings_usecase_duration_seconds",
			"How long usecases and actions took, with their transaction if they own it.", workBuckets, "usecase", "outcome"),
		emitted: counter("tidings_events_emitted_total",
			"Events emitted in transactions of this process that committed.", "event"),
		fenced: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tidings_delivery_fenced_total",
			Help: "Attempts of this process whose job had been taken away: nothing of them stayed.",
		}),
		leaseLosses: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tidings_delivery_lease_losses_total",
			Help: "Jobs of dead or paused nodes that this process took back.",
		}),
		build: newBuildInfo(),
	}
}

// each visits all counters.
func (c *counters) each(visit func(prometheus.Collector)) {
	for _, v := range []prometheus.Collector{
		c.attempts, c.duration, c.startDelay, c.syncDuration, c.usecases, c.emitted, c.fenced, c.leaseLosses, c.build,
	} {
		visit(v)
	}
}

// declare gives a declaration its series, at zero. The rarer outcomes of
// usecases get theirs when they occur: a histogram has many lines.
func (c *counters) declare(d *access.Declaration) {
	switch d.Kind {
	case access.KindDeferredListener:
		for _, o := range delivery.Outcomes {
			c.attempts.WithLabelValues(d.Identity, string(o))
		}
		c.duration.WithLabelValues(d.Identity)
		c.startDelay.WithLabelValues(d.Identity)
	case access.KindSyncListener:
		c.syncDuration.WithLabelValues(d.Identity)
	case access.KindUsecase, access.KindAction:
		c.usecases.WithLabelValues(d.Identity, string(CallOK))
		c.usecases.WithLabelValues(d.Identity, string(CallError))
	case access.KindEvent:
		c.emitted.WithLabelValues(d.Identity)
	}
}

func newBuildInfo() prometheus.Gauge {
	b := BuildInfo()
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "tidings_build_info", Help: "The program and the kernel it was built with; always 1.",
		ConstLabels: prometheus.Labels{"version": b.Kernel, "app": b.App, "app_version": b.AppVersion, "go_version": b.Go},
	})
	g.Set(1)
	return g
}

// Build tells what a program was built from.
type Build struct {
	App        string `json:"app"`         // module path of the program
	AppVersion string `json:"app_version"` // its version, or revision
	Kernel     string `json:"kernel"`      // version of this module
	Go         string `json:"go"`
}

const kernelModule = "github.com/tidings-go/tidings"

// BuildInfo returns what this program was built from, "unknown" where the build
// does not say.
func BuildInfo() Build {
	b := Build{App: "unknown", AppVersion: "unknown", Kernel: "unknown", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Path != "" {
		b.App = info.Main.Path
	}
	if info.Main.Version != "" {
		b.AppVersion = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && b.AppVersion == "(devel)" {
			b.AppVersion = s.Value
		}
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == kernelModule && m.Version != "" {
			b.Kernel = m.Version
		}
	}
	return b
}
