package boot

import (
	"context"
	"net"
	"time"
)

// unanswered is how long a connection may stay without any sign of its peer while
// something is under way or keep-alive probes are sent: then it is given up. A
// network that swallows packets without a word shows in no other way, and lib/pq
// waits for an answer even when its context has ended.
const unanswered = 30 * time.Second

// dialer opens the connections of the kernel's own pool.
type dialer struct{ *net.Dialer }

func newDialer() dialer {
	return dialer{&net.Dialer{
		Control: limitUnanswered,
		KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: unanswered / 3, Interval: unanswered / 6, Count: 4,
		},
	}}
}

// DialTimeout dials within a time, as lib/pq asks for a connect_timeout.
func (d dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}
