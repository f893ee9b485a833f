// Package observability shows an app from outside: its Prometheus metrics.
package observability
