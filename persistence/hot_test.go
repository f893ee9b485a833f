package persistence_test

import (
	"context"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
)

const (
	hotQuery    = `SELECT * FROM item WHERE id = $1`
	preparedSQL = `SELECT count(*) FROM pg_prepared_statements WHERE statement = '` + hotQuery + `'`
)

type item struct {
	ID   int64
	Name string
	Note *string
}

func hotDatabase(t *testing.T, opts ...persistence.Option) *persistence.Database {
	pool := sqlx.NewDb(pgtest.Open(t, `CREATE TABLE item (id bigint PRIMARY KEY, name text NOT NULL)`, `INSERT INTO item VALUES (1, 'one')`), "postgres")
	pool.SetMaxOpenConns(1) // nothing may need a second connection
	db := persistence.New(pool, opts...)
	t.Cleanup(db.CloseStatements)
	return db
}

// readItem runs the query in a transaction of its own and returns how often its
// connection has it prepared.
func readItem(t *testing.T, db *persistence.Database) (got item, prepared int, err error) {
	t.Helper()
	err = db.Required(t.Context(), persistence.TxOptions{}, func(ctx context.Context, tx *persistence.Transaction) error {
		if err := tx.GetContext(ctx, &got, hotQuery, 1); err != nil {
			return err
		}
		return tx.GetContext(ctx, &prepared, preparedSQL)
	})
	return got, prepared, err
}

func awaitPrepared(t *testing.T, db *persistence.Database) {
	t.Helper()
	require.Eventually(t, func() bool {
		got, prepared, err := readItem(t, db)
		require.NoError(t, err)
		require.Equal(t, "one", got.Name)
		return prepared == 1
	}, 30*time.Second, time.Millisecond)
}

func TestAStatementThatComesAgainIsPreparedWithoutASecondConnection(t *testing.T) {
	t.Parallel()
	awaitPrepared(t, hotDatabase(t))
}

func TestAPreparedStatementSurvivesAChangeOfItsTable(t *testing.T) {
	t.Parallel()
	db := hotDatabase(t)
	awaitPrepared(t, db)
	_, err := db.Pool().Exec(`ALTER TABLE item ADD note text`)
	require.NoError(t, err)
	_, _, err = readItem(t, db)
	require.Equal(t, "0A000", persistence.SQLState(err), "the server refuses the old plan: %v", err)
	got, prepared, err := readItem(t, db)
	require.NoError(t, err, "and no transaction after it meets it again")
	require.Equal(t, "one", got.Name)
	require.Zero(t, prepared)
	awaitPrepared(t, db)
}

func TestNothingIsPreparedBehindAPooler(t *testing.T) {
	t.Parallel()
	db := hotDatabase(t, persistence.WithoutPreparedStatements())
	for range 20 {
		_, prepared, err := readItem(t, db)
		require.NoError(t, err)
		require.Zero(t, prepared)
	}
}

func TestManyTextsDoNotPushOutTheOnesThatComeAgain(t *testing.T) {
	t.Parallel()
	db := hotDatabase(t)
	awaitPrepared(t, db)
	err := db.Required(t.Context(), persistence.TxOptions{}, func(ctx context.Context, tx *persistence.Transaction) error {
		for n := range 1000 {
			var one int
			if err := tx.GetContext(ctx, &one, `SELECT $1::int /* `+time.Duration(n).String()+` */`, 1); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	_, prepared, err := readItem(t, db)
	require.NoError(t, err)
	require.Equal(t, 1, prepared)
}
