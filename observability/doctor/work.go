package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/tidings-go/tidings/persistence/schema"
)

func (x *examination) nodes(ctx context.Context) (live int, err error) {
	err = x.DB.GetContext(ctx, &live, fmt.Sprintf(liveSQL, schema.Quote(x.Framework)))
	return live, err
}

const liveSQL = `SELECT count(*) FROM %[1]s.node WHERE expires_at > clock_timestamp()`

func checkNodes(ctx context.Context, x *examination) error {
	live, err := x.nodes(ctx)
	if err != nil {
		return err
	}
	var models int
	if err := x.DB.GetContext(ctx, &models, fmt.Sprintf(modelsSQL, schema.Quote(x.Framework))); err != nil {
		return err
	}
	if models > 1 {
		x.note("let the deployment end; `nodes` lists them", "%d live nodes run %d different programs: an event that one cannot read waits for another", live, models)
	}
	if live == 0 {
		x.note("start a node with `serve`, without kernel.PublishOnly", "no node delivers: jobs wait")
	}
	x.well("%d live", live)
	return nil
}

// lateQueue is how old the oldest due job of a healthy queue is at most.
const lateQueue = time.Minute

func checkJobs(ctx context.Context, x *examination) error {
	log, err := x.Backlog(ctx)
	if err != nil {
		return err
	}
	var unfinished int64
	for _, l := range log.Listeners {
		unfinished += l.Ready + l.Waiting + l.Claimed
		if open := l.Ready + l.Waiting; l.Nodes == 0 && open > 0 {
			x.problem("start a node that declares the listener; if it was renamed, `rename listener`; if it is gone for good, cancel its jobs",
				"%d jobs of %s are blocked: no live node has it", open, l.Listener)
		} else if l.QueueAge > lateQueue {
			x.problem("see `nodes` and tidings_delivery_workers: more nodes, more workers, or a faster listener",
				"the oldest due job of %s has been due for %v; %d are ready", l.Listener, l.QueueAge.Round(time.Second), l.Ready)
		}
		if l.Failed > 0 {
			x.problem("read their errors in the view jobs, mend the cause, and retry them", "%d jobs of %s failed for good", l.Failed, l.Listener)
		}
		if l.Waiting > 0 && l.Nodes > 0 {
			x.note("nothing, if their remote is known to be down: they retry by themselves; their errors are in the view jobs",
				"%d jobs of %s wait for a retry; its oldest unfinished job is %v old", l.Waiting, l.Listener, l.OldestUnfinished.Round(time.Second))
		}
	}
	x.well("%d unfinished, none late, none failed", unfinished)
	return nil
}
