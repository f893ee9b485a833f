package pgproxy

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
)

// conn is one client's connection and its counterpart to the server.
type conn struct {
	proxy          *Proxy
	client, server net.Conn
	prepared       map[string]string // statements by name; of the client's side alone
	portal         string            // the statement bound last
	before         []string          // statements of the transaction so far

	flight *Rule // acts when the statement under way has been handed on whole

	mu     sync.Mutex
	answer *Rule         // acts on the answer under way
	ended  chan struct{} // closed when nothing more comes from the server
}

// over ends the connection on both sides; through a black hole not even that
// passes.
func (c *conn) over() {
	c.proxy.travel(0)
	c.cut()
}

// cut closes both connections at once, without a farewell.
func (c *conn) cut() {
	cut(c.client)
	cut(c.server)
}

func cut(n net.Conn) {
	if tcp, ok := n.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = n.Close()
}

// message is one message of the protocol with its head.
type message struct {
	kind byte
	raw  []byte // all of it
	body []byte
}

func readMessage(r io.Reader, typed bool) (m message, err error) {
	head := make([]byte, 4, 5)
	if typed {
		head = head[:5]
	}
	if _, err := io.ReadFull(r, head); err != nil {
		return m, err
	}
	if typed {
		m.kind = head[0]
	}
	size := int(binary.BigEndian.Uint32(head[len(head)-4:])) - 4
	m.raw = make([]byte, len(head)+size)
	copy(m.raw, head)
	m.body = m.raw[len(head):]
	_, err = io.ReadFull(r, m.body)
	return m, err
}

// fromClient hands the client's messages on.
func (c *conn) fromClient() {
	defer c.proxy.forget(c)
	defer c.over()
	var raw []byte // read and not yet handed on
	for typed := false; ; typed = true {
		m, err := readMessage(c.client, typed)
		if err != nil {
			return
		}
		if rule := c.rule(m); rule != nil {
			switch rule.Point {
			case BeforeSending:
				if !c.proxy.act(rule) {
					return
				}
			case InFlight:
				c.flight = rule
			case BeforeAnswering:
				c.mu.Lock()
				c.answer = rule
				c.mu.Unlock()
			}
		}
		raw = append(raw, m.raw...)
		if m.kind == 'P' || m.kind == 'B' || m.kind == 'D' {
			continue // with what executes it, as drivers send it: in between, no time-out of the server's runs
		}
		if !c.proxy.travel(len(raw)) {
			return
		}
		if _, err := c.server.Write(raw); err != nil {
			return
		}
		raw = raw[:0]
		// A simple query is whole by itself, an executed one with its Sync.
		if c.flight != nil && (m.kind == 'Q' || m.kind == 'S') {
			rule := c.flight
			c.flight = nil
			if !c.proxy.act(rule) {
				c.desert()
				return
			}
		}
	}
}

// desert cuts the client off and lets the server end what it has got: it learns
// of the end when it looks for the next statement.
func (c *conn) desert() {
	cut(c.client)
	if half, ok := c.server.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	select {
	case <-c.ended:
	case <-c.proxy.closing:
	}
}

// rule follows the statements and returns the rule that acts on the one that m
// has executed.
func (c *conn) rule(m message) *Rule {
	switch m.kind {
	case 'Q':
		return c.executed(cString(m.body))
	case 'P': // Parse: name, text
		name := cString(m.body)
		if name != "" {
			c.proxy.keptOne()
		}
		c.prepared[name] = cString(m.body[len(name)+1:])
	case 'B': // Bind: portal, name
		portal := cString(m.body)
		c.portal = c.prepared[cString(m.body[len(portal)+1:])]
	case 'E':
		return c.executed(c.portal)
	}
	return nil
}

func (c *conn) executed(text string) *Rule {
	if begins(text) {
		c.before = nil
	}
	rule := c.proxy.note(Statement{Text: text, Before: c.before})
	switch {
	case chains(text):
		c.before = []string{"BEGIN"} // as if it had been sent
	case commits(text), hasPrefix(text, "ROLLBACK"):
		c.before = nil
	case c.before != nil || begins(text):
		c.before = append(c.before, text)
	}
	return rule
}

// The ends of transactions in the words of the kernel and of either driver: pgx
// writes them small.
func begins(text string) bool { return hasPrefix(text, "BEGIN") }

func chains(text string) bool  { return strings.HasSuffix(strings.ToUpper(text), "COMMIT AND CHAIN") }
func commits(text string) bool { return hasPrefix(text, "COMMIT") || chains(text) }

func hasPrefix(text, word string) bool {
	return len(text) >= len(word) && strings.EqualFold(text[:len(word)], word)
}

func cString(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}

// fromServer hands the server's messages on. An answer that a rule acts on is
// read to its end first.
func (c *conn) fromServer() {
	defer c.over()
	defer close(c.ended)
	var held []byte
	for {
		m, err := readMessage(c.server, true)
		if err != nil {
			return
		}
		c.mu.Lock()
		rule := c.answer
		c.mu.Unlock()
		if rule != nil {
			held = append(held, m.raw...)
			if m.kind != 'Z' { // ReadyForQuery ends the answer
				continue
			}
			if !c.proxy.act(rule) {
				return
			}
			c.mu.Lock()
			c.answer = nil
			c.mu.Unlock()
			m.raw, held = held, nil
		}
		if !c.proxy.travel(len(m.raw)) {
			return
		}
		if _, err := c.client.Write(m.raw); err != nil {
			return
		}
	}
}
