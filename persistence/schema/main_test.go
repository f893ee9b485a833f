package schema_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	_ "github.com/lib/pq"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { os.Exit(m.Run()) }

var n atomic.Int64

// open returns a fresh database in which the statements have run.
func open(t *testing.T, ddl ...string) *sql.DB {
	t.Helper()
	admin, err := sql.Open("postgres", "host=/tmp/mappg port=55432 user=postgres dbname=postgres sslmode=disable")
	require.NoError(t, err)
	defer admin.Close()
	name := fmt.Sprintf("s%d_%d", os.Getpid(), n.Add(1))
	_, err = admin.Exec("CREATE DATABASE " + name)
	require.NoError(t, err)
	db, err := sql.Open("postgres", "host=/tmp/mappg port=55432 user=postgres sslmode=disable dbname="+name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for _, statement := range ddl {
		_, err := db.ExecContext(context.Background(), statement)
		require.NoError(t, err, statement)
	}
	return db
}
