package boot

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAConnectionIsGivenUpWhosePeerAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	c, err := newDialer().Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	raw, err := c.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	var limit int
	require.NoError(t, raw.Control(func(fd uintptr) {
		limit, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout)
	}))
	require.NoError(t, err)
	require.EqualValues(t, unanswered.Milliseconds(), limit)
}
