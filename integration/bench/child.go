package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// childEnv holds the task of a process that the bench starts: its own program,
// once more.
const childEnv = "TIDINGS_BENCH_TASK"

// task is what a child does: publish at a rate for a time and answer with the
// times of the commits, or, without a rate, deliver jobs and answer with its
// memory.
type task struct {
	URL  string
	Rate int
	For  time.Duration
	Jobs int
}

// memory is what a node takes, in bytes.
type memory struct{ RSS, Heap float64 }

// child has a child do the task.
func (t task) child(ctx context.Context, answer any) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("child: %w", err)
	}
	return json.Unmarshal(out, answer)
}

// childMain does the task of this process, if it has one.
func childMain(ctx context.Context) (isChild bool, err error) {
	text, isChild := os.LookupEnv(childEnv)
	if !isChild {
		return false, nil
	}
	var t task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return true, err
	}
	var answer any
	if t.Rate > 0 {
		answer, err = t.publish(ctx)
	} else {
		answer, err = t.deliver(ctx)
	}
	if err != nil {
		return true, err
	}
	return true, json.NewEncoder(os.Stdout).Encode(answer)
}

func (t task) publish(ctx context.Context) (map[int64]time.Time, error) {
	a, err := setup{url: t.URL, listen: t.URL, listeners: 1, workers: 8, publishOnly: true}.start(ctx)
	if err != nil {
		return nil, err
	}
	w := newStopwatch()
	if err := a.drive(ctx, w, t.Rate, t.For); err != nil {
		return nil, err
	}
	return w.committed, a.stop(ctx)
}

func (t task) deliver(ctx context.Context) (m memory, err error) {
	a, err := setup{url: t.URL, listen: t.URL, listeners: 1, workers: 8, idle: true}.start(ctx)
	if err != nil {
		return m, err
	}
	if err := until(ctx, func() (bool, error) { return a.delivered.Load() >= int64(t.Jobs), nil }); err != nil {
		return m, err
	}
	m.RSS = residentBytes()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	m.Heap = float64(stats.HeapAlloc)
	return m, a.stop(ctx)
}

// residentBytes returns the resident memory of this process, or 0 where the
// system has no /proc.
func residentBytes() float64 {
	kib, _ := strconv.ParseFloat(strings.TrimSuffix(described("/proc/self/status", "VmRSS"), " kB"), 64)
	return kib * 1024
}
