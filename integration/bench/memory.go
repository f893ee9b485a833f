package main

import "context"

// memoryScenario: what a node takes while it works on a small backlog, and on a
// large one. The node is a process of its own.
func memoryScenario(s server, o options) scenario {
	few := number(float64(o.few)) + " READY"
	c := scenario{
		name: "memory", about: "The process of a node at work: 8 workers, one listener, the same number of jobs ended.",
		columns: []string{"resident MiB", "live heap MiB"}, beside: []base{{"small", few}},
	}
	for _, b := range []struct {
		name string
		backlog
	}{
		{few, backlog{database: "few", listeners: 1, ready: o.few}},
		{number(float64(o.many)) + " READY", backlog{database: "many", listeners: 1, ready: o.many}},
	} {
		c.add(b.name, func(ctx context.Context) ([]float64, error) {
			u, err := b.fill(ctx, s)
			if err != nil {
				return nil, err
			}
			jobs := o.few / 2
			var m memory
			if err := (task{URL: u.url, Jobs: jobs}).child(ctx, &m); err != nil {
				return nil, err
			}
			const mib = 1 << 20
			return []float64{m.RSS / mib, m.Heap / mib}, s.verify(ctx, b.database, `SELECT
				(SELECT count(*) FROM tidings.delivery WHERE state = 'READY') <= $1
				AND NOT EXISTS (SELECT FROM tidings.delivery WHERE state IN ('CLAIMED', 'FAILED'))`, b.ready-jobs)
		})
	}
	return c
}
