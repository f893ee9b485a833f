package demo

import (
	"encoding/json"
	"net"
	"net/http"
	"sync"

	"github.com/tidings-go/tidings/sampleapp/app"
)

// mailServer is the outside world: it answers as its script says.
type mailServer struct {
	server *http.Server
	url    string
	// held gets the key of a mail whose sender is kept waiting: its worker is in
	// the middle of the listener.
	held chan string

	mu     sync.Mutex
	script map[string]func(nth int) int // by recipient: the status of the nth request, or hold
	asked  map[string]int               // by key: how often
}

// hold is no status: the mail server does not answer.
const hold = 0

func newMailServer() (*mailServer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &mailServer{
		url:    "http://" + listener.Addr().String(),
		held:   make(chan string, 1),
		script: map[string]func(int) int{}, asked: map[string]int{},
	}
	m.server = &http.Server{Handler: m}
	go func() { _ = m.server.Serve(listener) }()
	return m, nil
}

// plan has mails to a recipient answered by script.
func (m *mailServer) plan(recipient string, script func(nth int) int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script[recipient] = script
}

// requests returns how often a mail was asked for under its key.
func (m *mailServer) requests(key string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[key]
}

// ServeHTTP takes a mail.
func (m *mailServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var mail app.Mail
	if err := json.NewDecoder(r.Body).Decode(&mail); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	switch status := m.answer(key, mail.To); status {
	case hold:
		m.held <- key
		<-r.Context().Done() // until the sender is dead
	default:
		w.WriteHeader(status)
	}
}

func (m *mailServer) answer(key, to string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked[key]++
	if script := m.script[to]; script != nil {
		return script(m.asked[key])
	}
	return http.StatusAccepted
}

func (m *mailServer) close() { _ = m.server.Close() }
