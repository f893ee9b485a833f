// Package pgproxy is a TCP proxy in front of PostgreSQL that knows the protocol
// well enough to tell which statement is under way, and cuts or holds the
// connection at the chosen one: before it is sent, or after the server has
// executed it and before the client learns of it.
package pgproxy

import (
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Point is where in a statement's life the proxy acts.
type Point int

const (
	// BeforeSending acts when the client has sent the statement and the server
	// has not got it.
	BeforeSending Point = iota
	// InFlight acts when the server has got the statement and goes on with it,
	// while the client has lost its connection already.
	InFlight
	// BeforeAnswering acts when the server has executed the statement and the
	// client has not got the answer.
	BeforeAnswering
)

// Rule says where to act. Its counters are read through the proxy.
type Rule struct {
	// Match says whether a statement is meant.
	Match Match
	// Point is when to act.
	Point Point
	// Times is how often to act at most; 0 means once.
	Times int
	// Hold, if set, holds the statement or answer until it is closed, and then
	// lets it go on. Unset, both connections are cut.
	Hold <-chan struct{}

	acted   int
	reached chan struct{}
}

// Statement is a statement under way.
type Statement struct {
	Text string
	// Before are the statements of the same transaction before it.
	Before []string
}

// Match says whether a statement is meant.
type Match func(Statement) bool

// Containing matches statements that contain all the texts.
func Containing(texts ...string) Match {
	return func(s Statement) bool { return containsAll(s.Text, texts) }
}

// CommitAfter matches the COMMIT of transactions with a statement that contains
// all the texts, whether or not it begins the next one.
func CommitAfter(texts ...string) Match {
	return func(s Statement) bool {
		return commits(s.Text) && slices.ContainsFunc(s.Before, func(b string) bool {
			return containsAll(b, texts)
		})
	}
}

func containsAll(s string, texts []string) bool {
	for _, text := range texts {
		if !strings.Contains(s, text) {
			return false
		}
	}
	return true
}

// Proxy is a running proxy. It is safe for concurrent use.
type Proxy struct {
	listener net.Listener
	direct   *url.URL
	done     sync.WaitGroup
	closing  chan struct{} // ends holds

	mu    sync.Mutex
	rules []*Rule
	conns map[*conn]bool
	seen  []string
	kept  int // statements prepared under a name
	down  bool
	sky   weather
}

// Start starts a proxy to the PostgreSQL of a connection URL, over TCP or a unix
// socket. It is closed when the test ends.
func Start(t testing.TB, direct string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, conns: map[*conn]bool{}, closing: make(chan struct{})}
	if p.direct, err = url.Parse(direct); err != nil {
		t.Fatal(err)
	}
	p.done.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *Proxy) dial() (net.Conn, error) {
	q := p.direct.Query()
	if dir := q.Get("host"); dir != "" {
		port := q.Get("port")
		if port == "" {
			port = p.direct.Port()
		}
		if port == "" {
			port = "5432"
		}
		return net.Dial("unix", filepath.Join(dir, ".s.PGSQL."+port))
	}
	return net.Dial("tcp", p.direct.Host)
}

// URL is the way through the proxy to the same database.
func (p *Proxy) URL() string {
	u := *p.direct
	q := u.Query()
	q.Del("host")
	q.Del("port")
	u.Host, u.RawQuery = p.listener.Addr().String(), q.Encode()
	return u.String()
}

// Add adds a rule and returns a channel that is closed when it first acts.
func (p *Proxy) Add(r Rule) <-chan struct{} {
	r.Times = max(r.Times, 1)
	r.reached = make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, &r)
	return r.reached
}

// Cut cuts all connections at once.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.cut()
	}
}

// Clear removes all rules.
func (p *Proxy) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = nil
}

// Statements returns the statements that were sent so far, in order.
func (p *Proxy) Statements() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.seen...)
}

// Prepared returns how many statements were prepared under a name so far, to be
// used again.
func (p *Proxy) Prepared() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept
}

func (p *Proxy) keptOne() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept++
}

// Forget forgets the statements seen so far.
func (p *Proxy) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = nil
}

// note notes a statement and returns the rule that acts on it, if any.
func (p *Proxy) note(statement Statement) *Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, statement.Text)
	for _, r := range p.rules {
		if r.acted < r.Times && r.Match(statement) {
			r.acted++
			return r
		}
	}
	return nil
}

// act is called where a rule's point is reached; it returns false if the
// connection is to be cut.
func (p *Proxy) act(r *Rule) bool {
	p.mu.Lock()
	select {
	case <-r.reached:
	default:
		close(r.reached)
	}
	p.mu.Unlock()
	if r.Hold == nil {
		return false
	}
	select {
	case <-r.Hold:
		return true
	case <-p.closing:
		return false
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := p.dial()
		if err != nil { // the server is down: so is the proxy
			_ = client.Close()
			continue
		}
		c := &conn{proxy: p, client: client, server: server, prepared: map[string]string{}, ended: make(chan struct{})}
		p.mu.Lock()
		p.conns[c] = true
		down := p.down
		p.mu.Unlock()
		if down {
			c.cut()
		}
		p.done.Go(c.fromClient)
		p.done.Go(c.fromServer)
	}
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	close(p.closing)
	p.mu.Lock()
	p.down = true
	for c := range p.conns {
		c.cut()
	}
	p.mu.Unlock()
	p.done.Wait()
}

func (p *Proxy) forget(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}
