package observability

import (
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/tidings-go/tidings/access"
)

// Instruments measure and trace one app. They are its one Prometheus collector,
// and what the events, the usecases and the delivery of the app report to. They
// are safe for concurrent use once the declarations and the source are given.
type Instruments struct {
	counters *counters
	gauges   *gauges
	tracer   trace.Tracer
}

var _ prometheus.Collector = (*Instruments)(nil)

// NewInstruments returns instruments whose spans go to provider, or where it is
// nil to OpenTelemetry's global one, which drops them unless the app sets it.
func NewInstruments(provider trace.TracerProvider) *Instruments {
	if provider == nil {
		provider = otel.GetTracerProvider()
	}
	return &Instruments{
		counters: newCounters(), gauges: newGauges(),
		tracer: provider.Tracer(kernelModule, trace.WithInstrumentationVersion(BuildInfo().Kernel)),
	}
}

// Declare gives every declaration its series from the start, at zero, and says
// where the gauges are read. It is called once, before the first scrape.
func (i *Instruments) Declare(declared []access.Declared, source Source) {
	for _, d := range declared {
		i.counters.declare(d.Declaration())
		if d.Declaration().Kind == access.KindDeferredListener {
			i.gauges.listeners = append(i.gauges.listeners, d.Declaration().Identity)
		}
	}
	i.gauges.source = source
}

// Describe describes the metrics.
func (i *Instruments) Describe(ch chan<- *prometheus.Desc) {
	i.counters.each(func(c prometheus.Collector) { c.Describe(ch) })
	i.gauges.describe(ch)
}

// Collect reads the metrics. Where the database does not answer the scrape has
// an error in place of the gauges that come from it.
func (i *Instruments) Collect(ch chan<- prometheus.Metric) {
	i.counters.each(func(c prometheus.Collector) { c.Collect(ch) })
	i.gauges.collect(ch)
}
