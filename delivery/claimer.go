package delivery

import (
	"context"
	"sync"
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

// claimer is the one goroutine that claims for this node. It fills the buffers,
// from which workers, a goroutine each, take jobs for as long as there are any.
type claimer struct {
	*run
	busyWorkers sync.WaitGroup

	suspect    bool // one was claimed and has not ended
	mayFind    bool // a suspect may be ready: look
	suspectDue bool // a suspect is ready: let the buffers run empty for it
	normal     bool // a normal claim had its turn since the last suspect

	ended int // jobs ended in the last poll interval

	failing bool // the last claim failed

	lost                []uuid.UUID // tokens of claims of unknown outcome
	nextPoll, nextRenew time.Time
}

func (r *run) claimer() {
	c := &claimer{run: r, nextRenew: time.Now().Add(r.config.Lease / 3)}
	for c.claiming.Err() == nil {
		c.tick()
		got := c.claim()
		c.dispatch()
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
		c.ended = c.buffers.pace()
		c.look()
	}
	if !now.Before(c.nextRenew) {
		c.nextRenew = now.Add(c.config.Lease / 3)
		c.renew()
	}
	c.handBackLost()
}

// look has the next claim ask for every listener, from the oldest job on, and for
// suspects.
func (c *claimer) look() {
	c.mayFind = true
	for _, l := range c.lanes {
		l.more, l.from = true, time.Time{}
	}
}

// dispatch starts free workers on buffered jobs.
func (c *claimer) dispatch() {
	for jobs := c.buffers.take(); jobs != nil; jobs = c.buffers.take() {
		c.busyWorkers.Go(func() { c.work(jobs) })
	}
}

// worker processes jobs on connections of its own choice: one transaction follows
// another on the same one while there are jobs.
type worker struct {
	*run
	lane  *lane // of the job under way
	chain *persistence.Chain
}

// work has a worker process jobs for as long as there are any.
func (c *claimer) work(jobs []*job) {
	w := &worker{run: c.run}
	w.chain = c.db.Chain(func() bool { return c.buffers.more(w.lane) })
	defer func() {
		w.chain.Close()
		if jobs == nil {
			return
		}
		// A listener ended its goroutine: the worker goes on in another.
		if jobs = c.buffers.next(jobs); jobs != nil {
			c.busyWorkers.Go(func() { c.work(jobs) })
		}
	}()
	for jobs != nil {
		w.lane = jobs[0].lane
		if len(jobs) > 1 {
			w.processGroup(jobs)
		} else {
			w.process(jobs[0])
		}
		jobs = c.buffers.next(jobs)
	}
}

// wait waits for room or a free worker, a wake-up, what is due by the clock, or
// the stop.
func (c *claimer) wait() {
	until := c.nextPoll
	if c.nextRenew.Before(until) {
		until = c.nextRenew
	}
	if _, held, _ := c.buffers.suspects(); held.After(time.Now()) && held.Before(until) {
		until = held
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-c.buffers.stirred:
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
	c.busyWorkers.Wait()
}

// handBackBuffers gives all unstarted jobs back unspent.
func (c *claimer) handBackBuffers() {
	c.handBack(c.buffers.empty(), 0)
	for _, l := range c.lanes {
		l.from = time.Time{}
	}
}

// renew renews the leases of buffered jobs.
func (c *claimer) renew() {
	jobs := c.buffers.all()
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
