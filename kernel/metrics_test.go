package kernel_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/kernel"
)

func TestTheQueueAgeIsZeroFromTheStartAndRightInEveryProcess(t *testing.T) {
	t.Parallel()
	const listener = "test.metrics.Deliver"
	delivered := make(chan string)
	db := database(t, desk("test.metrics", delivered))
	publisher := func() (*app, string) {
		log := &watched{}
		a := newApp(t, kernel.Options(kernel.Database(db), kernel.PublishOnly(), kernel.Admin(), log.logger()), desk("test.metrics", delivered))
		a.start()
		return a, log.adminURL(t)
	}
	first, url := publisher()
	require.Zero(t, age(t, url, listener), "a series from the start")
	first.emit("waits")
	// What was read from the database serves further scrapes for a few seconds.
	var earlier float64
	soon := func(what string, is func() bool) {
		t.Helper()
		require.Eventually(t, is, time.Minute, 50*time.Millisecond, what)
	}
	soon("in a process without workers", func() bool { earlier = age(t, url, listener); return earlier > 0 })
	first.stop()
	second, url := publisher()
	require.Greater(t, age(t, url, listener), earlier, "after a restart")
	log := &watched{}
	node := newApp(t, kernel.Options(kernel.Database(db), kernel.Admin(), log.logger(), quick()), desk("test.metrics", delivered))
	node.start()
	require.Equal(t, "waits", <-delivered)
	soon("nothing is due any more", func() bool { return age(t, url, listener) == 0 })
	soon("and every process agrees", func() bool { return age(t, log.adminURL(t), listener) == 0 })
	node.stop()
	second.stop()
}

func TestTheAdminEndpointTellsHealthAndReadiness(t *testing.T) {
	t.Parallel()
	log := &watched{}
	delivered := make(chan string, 10)
	db := database(t, desk("test.admin", delivered))
	a := newApp(t, kernel.Options(kernel.Database(db), kernel.Admin(), log.logger(), quick()), desk("test.admin", delivered))
	a.start()
	url := log.adminURL(t)
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		status, body := get(t, url+path)
		require.Equal(t, http.StatusOK, status, body)
	}
	// Sessions that were ended, as by a restart of the server, are no failure.
	_, err := pool(t, databaseURL(t, db)).Exec(`SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND state = 'idle'`)
	require.NoError(t, err)
	status, body := get(t, url+"/readyz")
	require.Equal(t, http.StatusOK, status, body)
	status, _ = get(t, url+"/nonsense")
	require.Equal(t, http.StatusNotFound, status)
	a.stop()
	_, err = http.Get(url + "/healthz") //nolint:noctx // refused at once
	require.Error(t, err, "it ended with the app")
}

func TestMetricsGoToTheAppsOwnRegistry(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	db := database(t, desk("test.registry", nil))
	a := newApp(t, kernel.Options(kernel.Database(db), kernel.PublishOnly(), kernel.Registry(registry)), desk("test.registry", nil))
	a.start()
	families, err := registry.Gather()
	require.NoError(t, err)
	names := map[string]bool{}
	for _, f := range families {
		names[f.GetName()] = true
	}
	require.True(t, names["tidings_delivery_queue_age_seconds"])
	require.False(t, names["go_goroutines"], "the app's registry is the app's")
	a.stop()
	err = fx.New(kernel.Options(kernel.Database(db), kernel.Registry(registry)), desk("test.registry", nil), fx.NopLogger).Err()
	require.ErrorContains(t, err, "register metrics", "one registry serves one app")
}
