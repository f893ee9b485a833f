//go:build unix

package pgserver

import (
	"context"
	"testing"
)

// BenchmarkStart is the cost of a start and a stop with a filled cache.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s, err := Start(context.Background(), Config{})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Stop(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
