package delivery

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/persistence"
)

// claim claims if there is room and reason, and says whether it got jobs.
//
// A suspect is claimed alone, with empty buffers, in turn with normal claims:
// whether it kills its process again is found out with as few neighbours as
// possible. Waiting for the buffers to run empty would let one slow listener
// hold up the others, so they are handed back.
func (c *claimer) claim() bool {
	one, held, free := c.buffers.suspects()
	if c.suspect && !one {
		c.suspect, c.mayFind = false, true
	}
	if c.mayFind && !c.suspect {
		c.lookForSuspect()
	}
	if c.suspectDue && c.normal && free {
		c.handBackBuffers()
		if c.claimSuspect() {
			return true
		}
	}
	c.normal = true
	if held.After(time.Now()) {
		return false
	}
	return c.claimReady()
}

func (c *claimer) lookForSuspect() {
	c.mayFind = false
	err := c.short(func(ctx context.Context, t *persistence.Transaction) error {
		return c.q.suspects.QueryOne(ctx, t, []any{c.listeners(c.lanes)}, &c.suspectDue)
	})
	if err != nil {
		c.claimFailed(err)
	}
}

func (c *claimer) claimSuspect() bool {
	c.suspectDue, c.normal = false, false
	leases := array(c.lanes, func(l *lane) string { return micros(l.lease) })
	jobs, err := c.take(c.q.claimSuspect, c.listeners(c.lanes), leases)
	if err != nil {
		c.claimFailed(err)
		return false
	}
	c.accept(jobs)
	c.suspect = len(jobs) > 0
	return c.suspect
}

// claimReady claims for all listeners that may have ready jobs and have room. It
// says whether it is worth while to claim again at once.
func (c *claimer) claimReady() bool {
	lanes, limits := c.buffers.room(c.ended, c.config.Batch)
	if len(lanes) == 0 {
		return false
	}
	begun := time.Now()
	for _, l := range lanes {
		if !begun.Before(l.whole) {
			l.from = time.Time{}
		}
	}
	jobs, err := c.take(c.q.claim, c.listeners(lanes), array(limits, strconv.Itoa),
		array(lanes, func(l *lane) string { return micros(l.lease) }), array(lanes, (*lane).since))
	if err != nil {
		c.claimFailed(err)
		return false
	}
	took := time.Since(begun)
	got := map[*lane][]*job{} // the oldest first, as jobs are
	for _, j := range jobs {
		got[j.lane] = append(got[j.lane], j)
	}
	again := len(jobs) > 0
	for i, l := range lanes {
		n := len(got[l])
		l.active = n >= limits[i]
		if l.from.IsZero() {
			l.whole = time.Now().Add(max(wholeClaim, wholeShare*took))
			l.more = l.active
		} else if !l.active { // the older ones were left out
			again = true
		}
		l.from = time.Time{}
		if l.active {
			l.from = got[l][n-1].createdAt
		}
	}
	c.accept(jobs)
	return again
}

// How long claims may begin where the last one ended, while there is a backlog: a
// job that is older than what was claimed and appears behind its back waits as long
// at most. Its publisher was slow to commit, or it was handed back or promoted. The
// share keeps claims that begin at the oldest job to a twentieth of the time, however
// long they take.
const (
	wholeClaim = 100 * time.Millisecond
	wholeShare = 20
)

// since is where a claim begins, for SQL.
func (l *lane) since() string {
	if l.from.IsZero() {
		return "-infinity"
	}
	return l.from.UTC().Format("2006-01-02T15:04:05.000000Z")
}

func (c *claimer) listeners(lanes []*lane) string {
	return array(lanes, func(l *lane) string { return strconv.Itoa(int(l.sub.ID)) })
}

// take runs a claim statement under a fresh token.
func (c *claimer) take(s *persistence.Statement, args ...any) ([]*job, error) {
	token := uuid.New()
	var jobs []*job
	args = slices.Concat(c.limits(), []any{token.String(), c.node.String()}, args)
	err := c.own.alone(s, args, func(rows *sql.Rows) error {
		j := &job{token: token, claimedAt: time.Now()}
		var listener int32
		var late float64
		var settings string
		if err := rows.Scan(&j.id, &j.eventID, &listener, &j.replay, &j.run, &j.attempt, &j.suspect, &j.createdAt, &late, &settings); err != nil {
			return fmt.Errorf("read claimed job: %w", err)
		}
		j.lane, j.late = c.byID[listener], max(0, seconds(late))
		jobs = append(jobs, j)
		return nil
	})
	if errors.Is(err, persistence.ErrUnknownOutcome) {
		c.lost = append(c.lost, token)
	}
	if err != nil {
		return nil, fmt.Errorf("claim jobs: %w", err)
	}
	c.failing = false
	slices.SortFunc(jobs, func(a, b *job) int {
		return cmp.Or(a.createdAt.Compare(b.createdAt), cmp.Compare(a.id, b.id))
	})
	return jobs, nil
}

// claimFailed has the claim tried again soon.
func (c *claimer) claimFailed(err error) {
	c.failing = true
	c.complain("jobs not claimed", err)
	for _, l := range c.lanes {
		l.more, l.from = false, time.Time{}
	}
	if soon := time.Now().Add(claimRetry); soon.Before(c.nextPoll) {
		c.nextPoll = soon
	}
}

// accept loads the events of claimed jobs and puts the jobs into the buffers. A
// job that cannot be started is disposed of here, without tying up a worker.
func (c *claimer) accept(jobs []*job) {
	byType := map[*events.Type][]*job{}
	for _, j := range jobs {
		if j.attempt > j.lane.policy.MaxAttempts {
			c.failUnstarted(j, failure{kind: FailureAttempts, final: true, unspent: true, err: errExhausted})
			continue
		}
		byType[j.lane.sub.Type] = append(byType[j.lane.sub.Type], j)
	}
	for typ, list := range byType {
		c.load(typ, list)
	}
	c.buffers.put(slices.DeleteFunc(jobs, func(j *job) bool { return j.event.Event == nil }))
}

var (
	errExhausted = errors.New("the process died or was paused in the last attempt")
	errMissing   = errors.New("the stored event is missing")
)

// load reads the events of jobs, one query for a type: their rows never change.
func (c *claimer) load(typ *events.Type, jobs []*job) {
	numbers := make([]uuid.UUID, len(jobs))
	for i, j := range jobs {
		numbers[i] = j.eventID
	}
	var found map[uuid.UUID]events.Stored
	err := c.own.read(func(ctx context.Context, q persistence.Querier) (err error) {
		found, err = c.bus.Load(ctx, q, typ, numbers)
		return err
	})
	if err != nil && interrupted(err) {
		c.claimFailed(fmt.Errorf("load events: %w", err))
		c.handBack(jobs, claimRetry)
		return
	}
	var unreadable []*job
	for _, j := range jobs {
		stored, ok := found[j.eventID]
		switch {
		case err != nil:
			j.event.Err = fmt.Errorf("load event: %w", err)
			unreadable = append(unreadable, j)
		case !ok:
			c.failUnstarted(j, failure{kind: FailurePayload, final: true, unspent: true, err: errMissing})
		case stored.Err != nil:
			j.event.Err = stored.Err
			unreadable = append(unreadable, j)
		default:
			j.event = stored
		}
	}
	c.unreadable(unreadable, err == nil)
}

// modelWait is how long a job waits that another node may be able to read.
const modelWait = 5 * time.Second

// unreadable disposes of jobs whose events this node cannot read: it fails them,
// unless live nodes differ in their model, as they do in a rolling deployment;
// then it hands them back with a delay. An event that was read and cannot be
// rebuilt fails its job at once.
func (c *claimer) unreadable(jobs []*job, final bool) {
	if len(jobs) == 0 {
		return
	}
	lanes := make([]*lane, len(jobs))
	for i, j := range jobs {
		lanes[i] = j.lane
	}
	differ := true // where it cannot be asked, the jobs are kept
	err := c.short(func(ctx context.Context, t *persistence.Transaction) error {
		return c.q.differ.QueryOne(ctx, t, []any{c.model, c.listeners(lanes)}, &differ)
	})
	if err != nil {
		c.complain("models of the nodes not compared", err)
	}
	if differ {
		c.complain("events not readable while nodes differ in their model: jobs handed back", jobs[0].event.Err)
		c.handBack(jobs, modelWait)
		return
	}
	for _, j := range jobs {
		c.failUnstarted(j, failure{kind: FailurePayload, final: final, unspent: final, err: j.event.Err})
	}
}
