// Package observability shows an app from outside: its Prometheus metrics, its
// OpenTelemetry spans, and whether it can do its work.
//
// Counters and histograms tell what this process did; gauges tell what the
// database holds, so they agree on every node and are right in a process without
// workers and after a restart. The labels are identities that programs declared
// and words of this package, nothing that depends on data.
//
// The folders grafana and prometheus hold a dashboard and alerts for them;
// docs/operations.md reads them.
package observability
