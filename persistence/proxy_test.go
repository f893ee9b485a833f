package persistence

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
)

// fate is what a proxy does with the session in which it sees the statement it
// waits for.
type fate int32

const (
	pass         fate = iota
	cutBefore         // drop the session without handing the statement on
	cutAfter          // hand it on, let the server answer, drop the session instead of answering
	swallow           // hand it on and never answer
	cutAfterNext      // answer, and then drop the session
)

// proxy stands before the server and acts on one statement.
type proxy struct {
	t        *testing.T
	listener net.Listener
	server   string // path of its socket
	on       string
	fate     atomic.Int32
	answered chan struct{} // the server has answered the statement
	sessions sync.WaitGroup
	mu       sync.Mutex
	open     []net.Conn
	taken    int // how many sessions there were
}

// newProxy returns a proxy and the URL of the database through it.
func newProxy(t *testing.T, database, on string) (*proxy, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := pgtest.Server(t)
	p := &proxy{
		t: t, listener: listener, on: on, answered: make(chan struct{}, 100),
		server: filepath.Join(server.SocketDir(), ".s.PGSQL."+strconv.Itoa(server.Port())),
	}
	p.sessions.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.cut()
		p.sessions.Wait()
	})
	u, err := url.Parse(database)
	require.NoError(t, err)
	through := url.URL{Scheme: "postgres", User: u.User, Host: listener.Addr().String(), Path: u.Path, RawQuery: "sslmode=disable"}
	return p, through.String()
}

func (p *proxy) do(f fate) { p.fate.Store(int32(f)) }

// cut drops all sessions.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		_ = c.Close()
	}
	p.open = nil
}

// accepted is how many sessions there were.
func (p *proxy) accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.open = append(p.open, client, server)
		p.taken++
		p.mu.Unlock()
		s := &proxied{proxy: p, client: client, server: server}
		p.sessions.Go(s.up)
		p.sessions.Go(s.down)
	}
}

// proxied is one session.
type proxied struct {
	*proxy
	client, server net.Conn
	fate           atomic.Int32 // of the statement under way
}

func (s *proxied) end() {
	_ = s.client.Close()
	_ = s.server.Close()
}

// up hands the client's messages on.
func (s *proxied) up() {
	defer s.end()
	for startup := true; ; startup = false {
		head := make([]byte, 5)
		if startup { // without a type
			head = head[:4]
		}
		if _, err := io.ReadFull(s.client, head); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[len(head)-4:])-4)
		if _, err := io.ReadFull(s.client, body); err != nil {
			return
		}
		if head[0] == 'Q' && strings.HasPrefix(string(body), s.on) {
			s.fate.Store(s.proxy.fate.Load())
			if fate(s.fate.Load()) == cutBefore {
				return
			}
		}
		if _, err := s.server.Write(append(head, body...)); err != nil {
			return
		}
	}
}

// down hands the server's answers back, as far as fate has it.
func (s *proxied) down() {
	defer s.end()
	ready := []byte("Z\x00\x00\x00\x05")
	buffer := make([]byte, 64<<10)
	for {
		n, err := s.server.Read(buffer)
		if err != nil {
			return
		}
		f := fate(s.fate.Load())
		done := bytes.Contains(buffer[:n], ready)
		if f == pass || f == cutAfterNext {
			if _, err := s.client.Write(buffer[:n]); err != nil {
				return
			}
		}
		if f == pass || !done {
			continue
		}
		s.answered <- struct{}{}
		if f == cutAfter || f == cutAfterNext {
			return
		}
	}
}
