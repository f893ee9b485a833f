package persistence

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
	"github.com/stretchr/testify/require"
)

func serverError(code, severity string) error {
	return fmt.Errorf("wrapped: %w", &pq.Error{Code: pqerror.Code(code), Severity: severity, Message: "x"})
}

// closed is the shape of what pgx returns for a connection that is closed.
type closed bool

func (c closed) Error() string     { return "conn closed" }
func (c closed) SafeToRetry() bool { return bool(c) }

func TestOnlyTheServersWordMakesAFailedCommitKnown(t *testing.T) {
	t.Parallel()
	require.NoError(t, commitError(nil))
	for _, err := range []error{
		serverError("40001", "ERROR"), serverError("23503", "ERROR"), serverError("57014", "ERROR"), serverError("53100", "ERROR"),
		pq.ErrInFailedTransaction, errors.New("pq: unexpected command tag ROLLBACK"),
	} {
		require.NotErrorIs(t, commitError(err), ErrUnknownOutcome, "%v", err)
		require.ErrorIs(t, commitError(err), err)
	}
	for _, err := range []error{
		driver.ErrBadConn, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, &net.OpError{Op: "read", Err: io.EOF}, sql.ErrConnDone,
		serverError("57P01", "FATAL"), serverError("XX000", "PANIC"), closed(true), closed(false), errors.New("anything else"),
	} {
		require.ErrorIs(t, commitError(err), ErrUnknownOutcome, "%v", err)
		require.ErrorIs(t, commitError(err), err)
	}
}

func TestErrorsAreSortedByWhatTheyMeanForTheTransaction(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err                           error
		retryable, connection, poison bool
	}{
		{nil, false, false, false},
		{sql.ErrNoRows, false, false, false},
		{errors.New("scan"), false, false, false},
		{context.Canceled, false, false, true},
		{context.DeadlineExceeded, false, false, true},
		{serverError("40001", "ERROR"), true, false, true},
		{serverError("40P01", "ERROR"), true, false, true},
		{serverError("23505", "ERROR"), false, false, true},
		{serverError("57014", "ERROR"), false, false, true},
		{serverError("57P01", "FATAL"), false, true, true},
		{serverError("25P03", "FATAL"), false, true, true},
		{driver.ErrBadConn, false, true, true},
		{fmt.Errorf("x: %w", closed(true)), false, true, true},
		{io.EOF, false, true, true},
		{fmt.Errorf("x: %w", &net.OpError{Op: "dial", Err: io.EOF}), false, true, true},
	} {
		require.Equal(t, test.retryable, IsRetryable(test.err), "%v", test.err)
		require.Equal(t, test.connection, IsConnectionError(test.err), "%v", test.err)
		if test.err != nil {
			require.Equal(t, test.poison, poisons(test.err), "%v", test.err)
		}
	}
}

// stated is an error of another driver, which has no severity.
type stated string

func (s stated) Error() string    { return string(s) }
func (s stated) SQLState() string { return string(s) }

func TestWithoutASeverityWhatMayBeFatalCountsAsFatal(t *testing.T) {
	t.Parallel()
	for state, nonFatal := range map[stated]bool{
		"23505": true, "40001": true, "57014": true, "25006": true, "22P02": true, "P0001": true,
		"57P01": false, "08006": false, "25P03": false, "53300": false, "XX000": false, "58030": false, "3D000": false, "28P01": false, "": false, "1": false,
	} {
		require.Equal(t, nonFatal, isNonFatal(state), "%q", state)
	}
}

func TestStatementsWorkPreparedAndUnprepared(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]Option{"prepared": nil, "unprepared": {WithoutPreparedStatements()}} {
		b := newBench(t, opts...)
		s := b.Statement(`INSERT INTO item (id) VALUES ($1) RETURNING id`)
		require.Same(t, s, b.Statement(`INSERT INTO item (id) VALUES ($1) RETURNING id`), name)
		prepared := func() (n int) {
			require.NoError(t, b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
				return tx.GetContext(ctx, &n, `SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'INSERT INTO item%'`)
			}))
			return n
		}
		for id := range 3 {
			require.NoError(t, b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
				var got int
				require.NoError(t, s.QueryOne(ctx, tx, []any{id}, &got))
				require.Equal(t, id, got)
				return nil
			}))
			require.NoError(t, s.Prepare(t.Context()))
			require.NoError(t, s.Prepare(t.Context()), "again is no error")
			if opts == nil {
				require.Equal(t, 1, prepared(), name)
			} else {
				require.Zero(t, prepared(), name)
			}
		}
		b.CloseStatements()
		require.Zero(t, prepared(), name)
		require.NoError(t, b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
			n, err := s.Exec(ctx, tx, 9)
			require.EqualValues(t, 1, n)
			require.ErrorIs(t, b.Statement(`SELECT 1 WHERE false`).QueryOne(ctx, tx, nil, new(int)), sql.ErrNoRows)
			return err
		}))
		require.Equal(t, 4, b.items(), name)
		b.idle()
	}
}

// TestPreparedStatementsSurviveTheLossOfTheirConnections: the kernel prepares
// once and goes on with it after a restart of the server.
func TestPreparedStatementsSurviveTheLossOfTheirConnections(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.Statement(insertItem)
	require.NoError(t, s.Prepare(t.Context()))
	for id := range 3 {
		require.NoError(t, b.Required(t.Context(), TxOptions{}, func(ctx context.Context, tx *Transaction) error {
			_, err := s.Exec(ctx, tx, id)
			return err
		}))
		b.side.SetMaxOpenConns(1)
		b.terminateAll()
	}
	require.Equal(t, 3, b.items())
	b.CloseStatements()
}
