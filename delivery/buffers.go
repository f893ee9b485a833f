package delivery

import (
	"sync"
	"time"
)

// buffers hold the claimed, unstarted jobs of a node, and know its workers. The
// claimer fills them; workers take from them by themselves, so that none waits
// for a claim that is under way.
type buffers struct {
	workers int
	stirred chan struct{} // there may be room, or a free worker

	mu       sync.Mutex
	lanes    []*lane
	turn     int // round-robin over the lanes
	running  int // workers that run a listener
	finished int // jobs ended in this poll interval
	closed   bool

	suspect *job      // buffered or running: at most one per node
	held    time.Time // no normal claim before
}

func newBuffers(workers int, lanes []*lane) *buffers {
	for i, l := range lanes {
		l.place = i
	}
	return &buffers{workers: workers, lanes: lanes, stirred: make(chan struct{}, 1)}
}

// put adds claimed jobs.
func (b *buffers) put(jobs []*job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range jobs {
		j.lane.buffer = append(j.lane.buffer, j)
		if j.suspect {
			b.suspect = j // nothing else is buffered
		}
	}
}

// take returns what a free worker does next, or nil if no worker is free or there
// is nothing to do.
func (b *buffers) take() []*job {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running >= b.workers {
		return nil
	}
	return b.start()
}

// next notes that a worker has ended jobs and returns what it does next. Without
// jobs the worker is free.
func (b *buffers) next(ended []*job) []*job {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running--
	ended[0].lane.running--
	b.finished += len(ended)
	if ended[0] == b.suspect {
		b.suspect, b.held = nil, time.Time{}
		signal(b.stirred)
	}
	return b.start()
}

// start takes jobs, round-robin over the listeners that have slots left.
func (b *buffers) start() []*job {
	l := b.upNext(nil)
	if l == nil {
		signal(b.stirred)
		return nil
	}
	b.turn = l.place + 1
	jobs := l.pop()
	b.running++
	l.running++
	if jobs[0].suspect {
		b.held = time.Now().Add(suspectHold)
	}
	if len(l.buffer) <= l.low {
		signal(b.stirred)
	}
	return jobs
}

// upNext returns the next listener that has a job and a slot for it; a slot of
// leaving counts as free.
func (b *buffers) upNext(leaving *lane) *lane {
	if b.closed {
		return nil
	}
	for n := range b.lanes {
		l := b.lanes[(b.turn+n)%len(b.lanes)]
		running := l.running
		if l == leaving {
			running--
		}
		if len(l.buffer) > 0 && running < l.slots {
			return l
		}
	}
	return nil
}

// more says whether a worker that is about to end a job of l will find another.
// Others may take it before.
func (b *buffers) more(l *lane) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.upNext(l) != nil
}

// all returns the buffered jobs.
func (b *buffers) all() []*job {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffered()
}

func (b *buffers) buffered() (jobs []*job) {
	for _, l := range b.lanes {
		jobs = append(jobs, l.buffer...)
	}
	return jobs
}

// empty takes the buffered jobs out.
func (b *buffers) empty() []*job {
	b.mu.Lock()
	defer b.mu.Unlock()
	jobs := b.buffered()
	for _, l := range b.lanes {
		l.buffer = nil
	}
	return jobs
}

// room returns how many jobs to claim for which listeners. The node keeps about
// as many jobs ahead as it ends in a poll interval, so that slow listeners do not
// keep jobs from other nodes, but no more than a batch; busy listeners share them,
// idle ones are asked for one job at a time.
func (b *buffers) room(pace, batch int) (lanes []*lane, limits []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ahead := min(batch, max(2*b.workers, pace, b.finished))
	busy := 0
	for _, l := range b.lanes {
		if l.active {
			busy++
		}
	}
	for _, l := range b.lanes {
		share := 1
		if l.active {
			share = max(1, ahead/busy)
		}
		l.low = share / 2
		if l.more && len(l.buffer) <= l.low {
			lanes, limits = append(lanes, l), append(limits, share-len(l.buffer))
		}
	}
	return lanes, limits
}

// pace returns how many jobs ended since it was last asked.
func (b *buffers) pace() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.finished
	b.finished = 0
	return n
}

// suspects says whether a suspect is buffered or runs, until when it holds back
// normal claims, and whether a worker is free.
func (b *buffers) suspects() (one bool, held time.Time, free bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.suspect != nil, b.held, b.running < b.workers
}

// busy returns how many workers run a listener.
func (b *buffers) busy() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running
}

// close has workers take nothing more.
func (b *buffers) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}
