package persistence

import (
	"context"
	"database/sql"
	"sync"

	"github.com/jmoiron/sqlx"
)

// Chain runs transactions one after another on one connection, for as long as
// more of them follow: COMMIT then opens the next, which saves the round trip of
// BEGIN (a tenth of what a short transaction costs client and server, measured).
// Nothing else passes from one to the next: each has its own snapshot, settings and
// locks. It holds a connection only between a commit that opened a next transaction
// and its end. It is not safe for concurrent use.
type Chain struct {
	db   *Database
	more func() bool
	next *link // the open transaction that the last commit began
}

// chainLength is how many transactions follow one another at most: then the
// connection goes back to the pool, which may want to replace it.
const chainLength = 1000

// chainSQL is COMMIT AND CHAIN, which on an aborted transaction is a rollback that
// reports success. The statement before it, which checks what COMMIT would check,
// fails there, and the server then leaves out the rest.
const chainSQL = `SET CONSTRAINTS ALL IMMEDIATE; COMMIT AND CHAIN`

// Chain returns a chain. A commit asks more whether another transaction will
// follow at once.
func (db *Database) Chain(more func() bool) *Chain {
	return &Chain{db: db, more: more}
}

// Begin opens a transaction, as Database.Begin does; the one that the last commit
// opened, if there is one and it is of the same kind.
func (c *Chain) Begin(ctx context.Context, o TxOptions) (*Transaction, error) {
	if l := c.next; l != nil && o == (TxOptions{}) && ctx.Err() == nil {
		c.next = nil
		return &Transaction{db: c.db, link: l, chain: c}, nil
	}
	c.Close()
	t, err := c.db.Begin(ctx, o)
	if err != nil {
		return nil, err
	}
	t.chain = c
	return t, nil
}

// Close ends what the last commit opened, and gives its connection back. A later
// Begin starts anew.
func (c *Chain) Close() {
	if l := c.next; l != nil {
		c.next = nil
		l.drop()
	}
}

// goesOn says whether t's commit opens another transaction. Only those of the
// default kind are chained, since the next one has the kind of the last; and none
// with work to do after the commit, which may want a connection of its own.
func (c *Chain) goesOn(t *Transaction) bool {
	t.length++
	return t.opts == (TxOptions{}) && t.length < chainLength && c.more()
}

// commitAndChain commits and leaves the next transaction open. After an error the
// connection is given back.
func (t *Transaction) commitAndChain() error {
	t.sending.Lock() // database/sql sees no end of the transaction here
	defer t.sending.Unlock()
	if t.shut != nil {
		t.shut()
	}
	_, err := t.tx.ExecContext(context.Background(), chainSQL)
	if err != nil {
		t.drop()
	}
	return err
}

// link is an open transaction as database/sql sees it: to it a chain is one.
type link struct {
	conn *sqlx.Conn
	tx   *sqlx.Tx

	length int // committed transactions

	mu    sync.Mutex
	stmts map[*sql.Stmt]*sqlx.Stmt
}

// prepared returns stmt in the transaction. database/sql remembers each that it
// makes until the transaction ends, so it is made once.
func (l *link) prepared(ctx context.Context, stmt *sql.Stmt) *sqlx.Stmt {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.stmts[stmt]
	if !ok {
		s = l.tx.StmtxContext(ctx, stmt)
		if l.stmts == nil {
			l.stmts = map[*sql.Stmt]*sqlx.Stmt{}
		}
		l.stmts[stmt] = s
	}
	return s
}

// forget has statements made anew: one that could not be prepared stays so.
func (l *link) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stmts = nil
}

// drop rolls back what is open and gives the connection back.
func (l *link) drop() {
	_ = l.tx.Rollback() // an error means a lost connection, whose transaction the server ends
	_ = l.conn.Close()
}
