package delivery

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/events"
)

// job is one claimed job.
type job struct {
	id        int64
	eventID   uuid.UUID
	lane      *lane
	replay    int
	run       int
	attempt   int
	suspect   bool
	createdAt time.Time
	late      time.Duration // how long it had been due when it was claimed
	claimedAt time.Time     // by this node's clock
	token     uuid.UUID
	event     events.Stored
}

// lane is one listener of this node: its buffered jobs and its running ones.
type lane struct {
	sub    *events.Subscriber
	policy events.Policy
	// lease is long enough for the listener's time limit and the server's
	// margin, so that a lease never expires under a live run.
	lease   time.Duration
	limit   time.Duration // time limit and margin
	millis  string        // limit, in milliseconds
	appName string
	slots   int
	place   int // in the round of the listeners

	// Guarded by the buffers' lock.
	buffer  []*job
	running int
	low     int // with so few jobs left the claimer looks for more

	// The claimer's alone. active says that the last claim found jobs: an idle
	// listener is asked for one job at a time, so that the busy ones share the
	// batch.
	active bool
	more   bool // there may be ready jobs
	// from is where the next claim begins: at the creation time of the newest job of
	// the last one, if that was full. Zero: at the oldest job. Without more it is zero.
	from  time.Time
	whole time.Time // when a claim is to begin at the oldest job again
}

func newLane(s *events.Subscriber, c Config, slots int) *lane {
	p := s.Listener.Policy()
	// A group's transaction lasts as long as all its jobs may.
	l := &lane{sub: s, policy: p, limit: p.TimeLimit*time.Duration(max(1, p.Group)) + c.Margin, slots: slots, active: true}
	l.lease = max(c.Lease, l.limit)
	l.millis = strconv.FormatInt(l.limit.Milliseconds(), 10)
	l.appName = backendPrefix(c.Schema) + l.millis
	return l
}

func (l *lane) identity() string { return l.sub.Listener.Declaration().Identity }

// pop takes what a worker does next from the buffer: one job, or a group.
func (l *lane) pop() []*job {
	n := 1
	for n < l.policy.Group && n < len(l.buffer) && l.buffer[0].groups() && l.buffer[n].groups() {
		n++
	}
	jobs := l.buffer[:n:n]
	l.buffer = l.buffer[n:]
	return jobs
}

// groups says whether the job may run in a group: first attempts alone do, and no
// suspect.
func (j *job) groups() bool { return j.attempt == 1 && !j.suspect }

// array returns the text of an SQL array of values that need no quoting, which
// both drivers hand on as it is.
func array[T any](values []T, text func(T) string) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = text(v)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func micros(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }

// ids returns the numbers and tokens of jobs as SQL arrays.
func ids(jobs []*job) (numbers, tokens string) {
	return array(jobs, func(j *job) string { return strconv.FormatInt(j.id, 10) }),
		array(jobs, func(j *job) string { return j.token.String() })
}

func (j *job) String() string {
	return fmt.Sprintf("job %d of %s, attempt %d", j.id, j.lane.identity(), j.attempt)
}
