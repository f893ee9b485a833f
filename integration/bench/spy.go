package main

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync"
	"time"
)

// spy times the claims of a node where its statements meet the driver: the
// kernel's own statement, as a node at work sends it, from the sending to the
// first row of the answer, which comes when the claim has been made.
type spy struct {
	mu     sync.Mutex
	claims []time.Duration
}

// isClaim knows the claim of ready jobs by its text.
func isClaim(text string) bool {
	return strings.Contains(text, "SET state = 'CLAIMED'") && strings.Contains(text, "LATERAL")
}

// seen returns how long the claims so far took.
func (y *spy) seen() []time.Duration {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.claims[:len(y.claims):len(y.claims)]
}

// milliseconds returns how long claims took.
func milliseconds(claims []time.Duration) []float64 {
	all := make([]float64, len(claims))
	for i, c := range claims {
		all[i] = c.Seconds() * 1000
	}
	return all
}

func (y *spy) wrap(c driver.Connector) driver.Connector { return spyConnector{c, y} }

type spyConnector struct {
	driver.Connector
	spy *spy
}

// Connect opens a connection that is spied on.
func (c spyConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	all, err := whole[wholeConn](conn)
	return spyConn{all, c.spy}, err
}

// whole returns v as T, which is all that database/sql may ask of it.
func whole[T any](v any) (T, error) {
	all, ok := v.(T)
	if !ok {
		return all, fmt.Errorf("%T lacks a method of a modern driver", v)
	}
	return all, nil
}

// wholeConn is all that database/sql asks of a connection.
type wholeConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

type spyConn struct {
	wholeConn
	spy *spy
}

// PrepareContext prepares a statement, which is spied on if it claims.
func (c spyConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	stmt, err := c.wholeConn.PrepareContext(ctx, text)
	if err != nil || !isClaim(text) {
		return stmt, err
	}
	all, err := whole[wholeStmt](stmt)
	return spyStmt{all, c.spy}, err
}

type wholeStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type spyStmt struct {
	wholeStmt
	spy *spy
}

// QueryContext claims and notes how long it took.
func (s spyStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	begin := time.Now()
	rows, err := s.wholeStmt.QueryContext(ctx, args)
	took := time.Since(begin)
	s.spy.mu.Lock()
	defer s.spy.mu.Unlock()
	s.spy.claims = append(s.spy.claims, took)
	return rows, err
}
