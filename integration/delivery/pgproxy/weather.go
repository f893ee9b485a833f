package pgproxy

import "time"

// weather is what the network between client and server does to all messages.
type weather struct {
	latency time.Duration
	perByte time.Duration
	calm    chan struct{} // closed when a black hole has ended; nil: there is none
}

// Slow delays every message, in both directions, by latency and by the time that
// it takes at so many bytes in a second; zeros end it.
func (p *Proxy) Slow(latency time.Duration, bytesPerSecond int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sky.latency, p.sky.perByte = latency, 0
	if bytesPerSecond > 0 {
		p.sky.perByte = time.Second / time.Duration(bytesPerSecond)
	}
}

// Swallow begins a black hole: nothing passes in either direction, no connection
// ends, new ones are taken and get no answer. The returned function ends it, and
// what was held goes on.
func (p *Proxy) Swallow() (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	calm := make(chan struct{})
	p.sky.calm = calm
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.sky.calm = nil
		close(calm)
	}
}

// travel takes the time that a message needs; it returns false where the proxy
// is closed meanwhile.
func (p *Proxy) travel(size int) bool {
	p.mu.Lock()
	sky := p.sky
	p.mu.Unlock()
	if sky.calm != nil {
		select {
		case <-sky.calm:
		case <-p.closing:
			return false
		}
	}
	d := sky.latency + time.Duration(size)*sky.perByte
	if d == 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.closing:
		return false
	}
}
