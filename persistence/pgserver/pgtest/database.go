package pgtest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/lib/pq" // driver "postgres"

	"github.com/tidings-go/tidings/persistence/pgserver"
)

// operationTimeout bounds each CREATE and DROP DATABASE; a loaded machine takes
// seconds.
const operationTimeout = time.Minute

// template is a database that holds one DDL; it is made once.
type template struct {
	name string
	once sync.Once
	err  error
}

// Database makes a fresh database for the test and returns its URL, for lib/pq
// and pgx: superuser, unix socket, time zone UTC. The database holds what the
// ddl texts made, run in order; each may hold several statements. It is dropped
// at the end of the test, even with sessions open. Equal ddl shares a template,
// so pass the same text for speed. Safe for parallel tests; an error fails the
// test.
func Database(t testing.TB, ddl ...string) string {
	t.Helper()
	server := Server(t)
	from := ""
	if len(ddl) > 0 {
		from = templateOf(t, server, ddl)
	}
	name := databaseName(t)
	ctx, cancel := context.WithTimeout(context.Background(), operationTimeout)
	defer cancel()
	if err := server.CreateDatabase(ctx, name, from); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), operationTimeout)
		defer cancel()
		if err := server.DropDatabase(ctx, name); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return server.URL(name)
}

// Open is Database with a pool of lib/pq on it, closed at the end of the test.
// The pool has database/sql's defaults.
func Open(t testing.TB, ddl ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("postgres", Database(t, ddl...))
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("pgtest: close database: %v", err)
		}
	})
	return db
}

// databaseName is unique in the server and tells the test in pg_stat_activity.
func databaseName(t testing.TB) string {
	shared.Lock()
	defer shared.Unlock()
	shared.count++
	prefix := fmt.Sprintf("t%d ", shared.count)
	name := strings.ReplaceAll(t.Name(), "\x00", "")
	name = name[max(0, len(name)-(63-len(prefix))):] // the end tells more than the beginning
	return prefix + strings.ToValidUTF8(name, "")
}

// templateOf is the name of the template that holds ddl; the first caller makes
// it, the others wait.
func templateOf(t testing.TB, server *pgserver.Server, ddl []string) string {
	t.Helper()
	hash := sha256.New()
	for _, text := range ddl {
		fmt.Fprintf(hash, "%d:%s", len(text), text)
	}
	name := "template " + hex.EncodeToString(hash.Sum(nil)[:12])
	shared.Lock()
	if shared.created == nil {
		shared.created = map[string]*template{}
	}
	made := shared.created[name]
	if made == nil {
		made = &template{name: name}
		shared.created[name] = made
	}
	shared.Unlock()
	made.once.Do(func() { made.err = made.build(server, ddl) })
	if made.err != nil {
		t.Fatalf("pgtest: make template database: %v", made.err)
	}
	return name
}

func (m *template) build(server *pgserver.Server, ddl []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), operationTimeout)
	defer cancel()
	if err := server.CreateDatabase(ctx, m.name, ""); err != nil {
		return err
	}
	db, err := sql.Open("postgres", server.URL(m.name))
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx) // one session, so that a SET in one text holds for the next
	if err != nil {
		return err
	}
	defer conn.Close()
	for i, text := range ddl {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("ddl %d: %w", i+1, err)
		}
	}
	return nil
}
