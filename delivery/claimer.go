package delivery

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/persistence"
)

// suspectHold is how long normal claims wait behind a started suspect. A job
// that kills its process usually does so at once; claims made meanwhile would be
// lost with it.
const suspectHold = time.Second

// claimRetry is how long the claimer waits after a failed claim, if the next
// poll is not sooner.
const claimRetry = time.Second

// claimer is the one goroutine that claims for this node and owns the buffers.
// It hands jobs to workers, a goroutine each, and learns from done when one is
// free again.
type claimer struct {
	*run
	running int
	turn    int // round-robin over the lanes

	suspect    *job      // at most one per node
	held       time.Time // no normal claim before
	mayFind    bool      // a suspect may be ready: look
	suspectDue bool      // a suspect is ready: let the buffers run empty for it
	normal     bool      // a normal claim had its turn since the last suspect

	pace, finished int // jobs ended in the last poll interval, and in this one

	failing bool // the last claim failed

	lost                []uuid.UUID // tokens of claims of unknown outcome
	nextPoll, nextRenew time.Time
}

func (r *run) claimer() {
	c := &claimer{run: r, nextRenew: time.Now().Add(r.config.Lease / 3)}
	for c.claiming.Err() == nil {
		c.tick()
		c.dispatch()
		got := c.claim()
		if !c.failing {
			c.claimed.Store(time.Now().UnixNano())
		}
		if !got {
			c.wait()
		}
	}
	c.drain()
}

// tick does what is due by the clock.
func (c *claimer) tick() {
	now := time.Now()
	if !now.Before(c.nextPoll) {
		c.nextPoll = now.Add(c.config.Poll)
		c.pace, c.finished = c.finished, 0
		c.look()
	}
	if !now.Before(c.nextRenew) {
		c.nextRenew = now.Add(c.config.Lease / 3)
		c.renew()
	}
	c.handBackLost()
}

// look has the next claim ask for every listener and for suspects.
func (c *claimer) look() {
	c.mayFind = true
	for _, l := range c.lanes {
		l.more = true
	}
}

// dispatch hands buffered jobs to free workers, round-robin over the listeners.
func (c *claimer) dispatch() {
	for idle := 0; c.running < c.config.Workers && idle < len(c.lanes); {
		l := c.lanes[c.turn%len(c.lanes)]
		c.turn++
		if len(l.buffer) == 0 || l.running >= l.slots {
			idle++
			continue
		}
		idle = 0
		c.start(l.pop())
	}
}

func (c *claimer) start(jobs []*job) {
	c.running++
	c.busy.Store(int32(c.running))
	jobs[0].lane.running++
	if jobs[0].suspect {
		c.held = time.Now().Add(suspectHold)
	}
	go func() {
		// Deferred, since a listener may end its goroutine: the worker is free
		// again all the same.
		defer func() { c.done <- jobs }()
		if len(jobs) > 1 {
			c.processGroup(jobs)
		} else {
			c.process(jobs[0])
		}
	}()
}

// ended notes that a worker is free again.
func (c *claimer) ended(jobs []*job) {
	c.running--
	c.busy.Store(int32(c.running))
	jobs[0].lane.running--
	c.finished += len(jobs)
	if jobs[0] == c.suspect {
		c.suspect, c.held, c.mayFind = nil, time.Time{}, true
	}
}

// wait waits for a free worker, a wake-up, what is due by the clock, or the stop.
func (c *claimer) wait() {
	until := c.nextPoll
	if c.nextRenew.Before(until) {
		until = c.nextRenew
	}
	if c.held.After(time.Now()) && c.held.Before(until) {
		until = c.held
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case jobs := <-c.done:
		c.ended(jobs)
	case <-c.wakes:
		for _, l := range c.lanes {
			l.more = true
		}
	case <-c.promoted:
		c.look()
	case <-timer.C:
	case <-c.claiming.Done():
	}
}

// drain hands back what was not started and waits for what runs.
func (c *claimer) drain() {
	c.handBackBuffers()
	c.handBackLost()
	for c.running > 0 {
		c.ended(<-c.done)
	}
}

// buffered returns the claimed, unstarted jobs.
func (c *claimer) buffered() []*job {
	var jobs []*job
	for _, l := range c.lanes {
		jobs = append(jobs, l.buffer...)
	}
	return jobs
}

// handBackBuffers gives all unstarted jobs back unspent.
func (c *claimer) handBackBuffers() {
	c.handBack(c.buffered(), 0)
	for _, l := range c.lanes {
		l.buffer = nil
	}
}

// renew renews the leases of buffered jobs.
func (c *claimer) renew() {
	jobs := c.buffered()
	if len(jobs) == 0 {
		return
	}
	numbers, tokens := ids(jobs)
	leases := array(jobs, func(j *job) string { return micros(j.lane.lease) })
	err := c.short(func(ctx context.Context, t *persistence.Transaction) error {
		_, err := c.q.renew.Exec(ctx, t, numbers, tokens, leases)
		return err
	})
	if err != nil {
		c.complain("leases not renewed", err)
	}
}

// handBack gives unstarted jobs back unspent, after wait. Best effort: without a
// database the lease does it.
func (r *run) handBack(jobs []*job, wait time.Duration) {
	if len(jobs) == 0 {
		return
	}
	numbers, tokens := ids(jobs)
	if _, err := r.exec(r.q.handBack, numbers, tokens, micros(wait)); err != nil {
		r.complain("claims not handed back: the leases will end them", err)
	}
}

// handBackLost gives back what claims of unknown outcome may have taken. What
// fails is tried again later; the lease ends it in any case.
func (c *claimer) handBackLost() {
	for len(c.lost) > 0 {
		if _, err := c.exec(c.q.handBackToken, c.lost[0].String()); err != nil {
			c.complain("unknown claim not handed back", err)
			return
		}
		c.lost = c.lost[1:]
		c.look()
	}
}
