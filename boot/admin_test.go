package boot_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/boot"
)

func get(t *testing.T, a *boot.Admin, path string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+a.Addr().String()+path, nil)
	require.NoError(t, err)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

func TestTheAdminEndpointStartsAndStopsAnyNumberOfTimes(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "a_gauge"}))
	a := boot.NewAdmin("127.0.0.1:0", registry, func(context.Context) error {
		if down.Load() {
			return errors.New("database not reached")
		}
		return nil
	}, slog.New(slog.DiscardHandler))
	require.NoError(t, a.Stop(t.Context()), "before the start")
	for range 3 {
		require.NoError(t, a.Start(t.Context()))
		for path, want := range map[string]string{"/healthz": "ok", "/readyz": "ready", "/metrics": "a_gauge 0"} {
			status, body := get(t, a, path)
			require.Equal(t, http.StatusOK, status)
			require.Contains(t, body, want)
		}
		down.Store(true)
		status, body := get(t, a, "/readyz")
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Contains(t, body, "database not reached")
		status, _ = get(t, a, "/healthz")
		require.Equal(t, http.StatusOK, status, "alive though not ready")
		down.Store(false)
		require.NoError(t, a.Stop(t.Context()))
		require.NoError(t, a.Stop(t.Context()))
	}
}

func TestATakenAdminAddressIsAnErrorOfTheStart(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	a := boot.NewAdmin(l.Addr().String(), prometheus.NewRegistry(), nil, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, a.Start(t.Context()), "admin endpoint")
	require.NoError(t, a.Stop(t.Context()))
}
