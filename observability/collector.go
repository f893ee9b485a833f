package observability

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// scrapeTimeout bounds what a scrape asks of the database; Prometheus itself
// gives up after ten seconds by default.
const scrapeTimeout = 5 * time.Second

// Collector collects the metrics of one app. Gauges are read from the database
// at every scrape, so they agree on every node and are right in a process
// without workers and after a restart.
type Collector struct {
	listeners []string
	ages      func(context.Context) (map[string]float64, error)
	queueAge  *prometheus.Desc
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns a collector for the declared listeners, which have their
// series from the start, at zero. ages reads the queue ages; while it fails a
// scrape has the error instead of values that would be wrong.
func NewCollector(listeners []string, ages func(context.Context) (map[string]float64, error)) *Collector {
	return &Collector{
		listeners: listeners, ages: ages,
		queueAge: prometheus.NewDesc("tidings_delivery_queue_age_seconds",
			"Age of the oldest due job of the listener: how long it has been due without being claimed; 0 when none is.",
			[]string{"listener"}, nil),
	}
}

// Describe describes the metrics.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) { ch <- c.queueAge }

// Collect reads the metrics.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	ages, err := c.ages(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(c.queueAge, err)
		return
	}
	for _, l := range c.listeners {
		ch <- prometheus.MustNewConstMetric(c.queueAge, prometheus.GaugeValue, ages[l], l)
	}
}
