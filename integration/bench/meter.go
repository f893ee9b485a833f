package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// meter measures a stretch of work: the time it takes, and the CPU time of this
// process, of its children that have ended and of PostgreSQL, which a busy
// machine changes less than a rate.
type meter struct {
	server server
	at     time.Time
	cpu    time.Duration
}

// rateColumns are the figures that meter.per returns.
func rateColumns(unit string) []string { return []string{unit + "s/s", "CPU µs per " + unit} }

func (s server) meter() meter {
	cpu := s.cpu()
	return meter{s, time.Now(), cpu}
}

// per returns the rate of n units of work since the start, and the CPU time per
// unit.
func (m meter) per(n int) []float64 {
	took, cpu := time.Since(m.at), m.server.cpu()-m.cpu
	return []float64{float64(n) / took.Seconds(), float64(cpu.Microseconds()) / float64(n)}
}

// worked measures how long it takes until done is true. It begins with the first
// unit that count tells of, so that the start of a node, which does other things
// than that of a contender, is no part of it.
func (s server) worked(ctx context.Context, jobs int, count func() int64, done func() (bool, error)) ([]float64, error) {
	if err := until(ctx, func() (bool, error) { return count() > 0, nil }); err != nil {
		return nil, err
	}
	m, before := s.meter(), int(count())
	before = min(before, jobs-1) // in a run of a few jobs, all may be done by now
	if err := until(ctx, func() (bool, error) {
		if count() < int64(jobs) {
			return false, nil
		}
		return done()
	}); err != nil {
		return nil, err
	}
	return m.per(jobs - before), nil
}

// until waits for a condition, looking every millisecond.
func until(ctx context.Context, ok func() (bool, error)) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := ok(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// cpu returns the CPU time so far of this process, its ended children, and the
// server; 0 where the system has no /proc.
func (s server) cpu() time.Duration {
	const tick = 10 * time.Millisecond // of /proc on every usual Linux
	self, server := strconv.Itoa(os.Getpid()), strconv.Itoa(s.PID())
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	var ticks int
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // has ended
		}
		// After the name in brackets: state, parent, …, own user and system
		// time, those of ended children.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		pid := filepath.Base(filepath.Dir(file))
		if len(fields) < 15 || pid != self && pid != server && fields[1] != server {
			continue
		}
		for _, field := range fields[11:15] {
			n, _ := strconv.Atoi(field)
			ticks += n
		}
	}
	return time.Duration(ticks) * tick
}
