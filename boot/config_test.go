package boot_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/boot"
	"github.com/tidings-go/tidings/delivery"
)

func lookup(variables map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}
}

func TestTheEnvironmentOverridesTheCodeAndDefaultsFillTheRest(t *testing.T) {
	t.Parallel()
	code := boot.Config{AdminAddr: "code:1", PoolSize: 7, Delivery: delivery.Config{Workers: 3, Lease: time.Hour}}
	c, err := boot.FromEnvironment(code, lookup(map[string]string{
		"DATABASE_URL": "postgres://x", "TIDINGS_ADMIN_ADDR": "env:2", "TIDINGS_DEV": "true", "TIDINGS_DEV_DIR": "d", "TIDINGS_NODE": "n",
		"TIDINGS_WORKERS": "5", "TIDINGS_BATCH": "6", "TIDINGS_POLL": "7ms", "TIDINGS_MARGIN": "8s", "TIDINGS_GRACE": "9s",
		"TIDINGS_HEARTBEAT": "10s", "TIDINGS_MAINTENANCE": "11s", "TIDINGS_LEASE": "", "TIDINGS_LISTEN_URL": "l",
	}))
	require.NoError(t, err)
	require.Equal(t, boot.Config{
		DatabaseURL: "postgres://x", AdminAddr: "env:2", Dev: true, DevDir: "d", PoolSize: 7, ListenURL: "l",
		Delivery: delivery.Config{
			NodeName: "n", Workers: 5, Batch: 6, Poll: 7 * time.Millisecond, Margin: 8 * time.Second, Grace: 9 * time.Second,
			Heartbeat: 10 * time.Second, Maintenance: 11 * time.Second, Lease: time.Hour,
		},
	}, c)
	require.Equal(t, "code:1", code.AdminAddr, "the base is not changed")
	c = boot.Config{}.WithDefaults()
	require.Equal(t, boot.DefaultAdminAddr, c.AdminAddr)
	require.Equal(t, boot.DefaultDevDir, c.DevDir)
	require.Equal(t, c.Delivery.Connections()+10, c.PoolSize)
	require.NoError(t, c.Delivery.Validate())
}

func TestAllMalformedVariablesAreNamedTogether(t *testing.T) {
	t.Parallel()
	_, err := boot.FromEnvironment(boot.Config{}, lookup(map[string]string{
		"TIDINGS_WORKERS": "0", "TIDINGS_POOL_SIZE": "9999999999999999999999", "TIDINGS_LEASE": "-1s", "TIDINGS_DEV": "ja", "TIDINGS_POLL": "1",
	}))
	for _, want := range []string{
		`TIDINGS_WORKERS="0": want a positive number`, "TIDINGS_POOL_SIZE", `TIDINGS_LEASE="-1s": want a positive duration`,
		`TIDINGS_DEV="ja": want true or false`, "TIDINGS_POLL",
	} {
		require.ErrorContains(t, err, want)
	}
}

func TestTheLoggedSettingsHoldNoSecret(t *testing.T) {
	t.Parallel()
	c := boot.Config{DatabaseURL: "postgres://me:sesame@h/d", ListenURL: "postgres://me:sesame@h/d"}.WithDefaults()
	var text strings.Builder
	slog.New(slog.NewTextHandler(&text, nil)).Info("x", c.LogAttrs()...)
	require.NotContains(t, text.String(), "sesame")
	require.Contains(t, text.String(), "workers=")
	require.NotContains(t, text.String(), "BADKEY")
}

func FuzzConfig(f *testing.F) {
	f.Add("1", "1s", "true")
	f.Add("-1", "1", "x")
	f.Fuzz(func(t *testing.T, number, duration, boolean string) {
		c, err := boot.FromEnvironment(boot.Config{}, lookup(map[string]string{
			"TIDINGS_WORKERS": number, "TIDINGS_LEASE": duration, "TIDINGS_DEV": boolean,
		}))
		if err == nil {
			require.GreaterOrEqual(t, c.Delivery.Workers, 0)
			require.GreaterOrEqual(t, c.Delivery.Lease, time.Duration(0))
		}
	})
}
