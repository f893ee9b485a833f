package observability_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/kernel/kerneltest"
)

// logged keeps what is logged at info and above.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(l, nil)) }

func (l *logged) lines(t *testing.T) (all []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.buf.String()) {
		var m map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		all = append(all, m)
	}
	return all
}

// addJobs stores n events with a job for each deferred listener of the shop, which
// already had so many attempts.
func addJobs(t *testing.T, k *kerneltest.Kernel, n, attempts int) {
	t.Helper()
	_, err := k.DB().Exec(`WITH event AS (
		INSERT INTO shop."@event:Placed" ("id", "@occurredAt", "@correlation", "N")
		SELECT gen_random_uuid(), now(), '', i FROM generate_series(1, $1::int) i RETURNING id)
	INSERT INTO tidings.delivery (event_type_id, event_id, listener_id, attempts)
	SELECT l.event_type_id, event.id, l.id, $2::int FROM event, tidings.listener l`, n, attempts)
	require.NoError(t, err)
}

func TestTenThousandFailingJobsAreNoLogStorm(t *testing.T) {
	t.Parallel()
	const many = 10_000
	var log logged
	began := time.Now()
	k := kerneltest.New(t, kernel.Logger(log.logger()), shop(func(int) error { return errRemote }))
	addJobs(t, k, many, 1) // one attempt is left
	require.Eventually(t, func() bool {
		var failed int
		err := k.DB().Get(&failed, `SELECT count(*) FROM tidings.delivery WHERE state = 'FAILED'`)
		return err == nil && failed == many
	}, 5*time.Minute, 100*time.Millisecond)
	lines := log.lines(t)
	failed, told := 0, 0.
	for _, l := range lines {
		if l["msg"] != "job failed" {
			continue
		}
		failed++
		require.Equal(t, "shop.Mail", l["listener"])
		require.Contains(t, l["error"], errRemote.Error())
		require.NotEmpty(t, l["job"])
		times, ok := l["times"].(float64)
		if !ok {
			times = 1
		}
		told += times
	}
	require.NotZero(t, failed, "silence would be as bad")
	require.LessOrEqual(t, failed, int(time.Since(began)/(10*time.Second))+2, "one line in ten seconds")
	require.LessOrEqual(t, len(lines), failed+10+int(time.Since(began)/time.Second))
	require.LessOrEqual(t, told, float64(many))
}

func TestASuccessIsNotLoggedAtInfo(t *testing.T) {
	t.Parallel()
	var log logged
	k := kerneltest.New(t, kernel.Logger(log.logger()), shop(func(int) error { return nil }))
	before := log.lines(t)
	for n := range 20 {
		require.NoError(t, place(t, k, Place{N: n}))
	}
	k.Drain()
	require.Equal(t, before, log.lines(t))
}
