//go:build unix

package app

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/process"
)

// meter is the role of a child that delivers without a word and says on demand
// what memory it uses.
const meter = "meter"

// StartMeter starts a process that delivers, and answers every word of the test
// with "uses N done M": the bytes that it uses and the deliveries that it started.
func StartMeter(t testing.TB, url string, p lab.Plan) *process.Child {
	c := lab.Launch(t, meter, url, p)
	c.Expect(1, "up")
	return c
}

func measure() {
	var done atomic.Int64
	n := lab.OpenChild(func(p *lab.Plan) {
		for i := range p.Listeners {
			p.Listeners[i].Run = func(ctx context.Context, self lab.Self) error {
				done.Add(1)
				return lab.Effect(ctx, self)
			}
		}
	})
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM)
	go func() {
		<-terminate
		if err := n.Stop(); err != nil {
			panic(err)
		}
		os.Exit(0)
	}()
	process.Say("up")
	process.Heard(func(string) {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		process.Say("uses %d done %d", m.HeapAlloc, done.Load())
	})
}
