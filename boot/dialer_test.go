package boot

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/pgserver"
)

func TestThePoolDialsWithATimeLimitAndOverEveryNetwork(t *testing.T) {
	t.Parallel()
	server, err := pgserver.Start(t.Context(), pgserver.Config{Port: -1})
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	for _, dsn := range []string{server.TCPURL("postgres"), server.URL("postgres"), server.TCPURL("postgres") + "&connect_timeout=5"} {
		pool := NewPool(1)
		require.NoError(t, pool.Connect(dsn))
		require.NoError(t, pool.PingContext(t.Context()), dsn)
		require.NoError(t, pool.Close())
	}
}

func TestADialTimesOut(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	_, err = newDialer().DialTimeout("tcp", address, time.Second)
	require.Error(t, err)
}
