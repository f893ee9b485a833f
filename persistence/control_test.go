package persistence

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// refused are texts that control the transaction, on every server.
var refused = []string{
	"ROLLBACK", "COMMIT", "END", "ABORT", "BEGIN", "START TRANSACTION", "SAVEPOINT a", "RELEASE a",
	"ROLLBACK AND CHAIN", "COMMIT AND CHAIN", "ROLLBACK TO a", "ROLLBACK TO SAVEPOINT a", "RELEASE SAVEPOINT a",
	"END TRANSACTION", "ABORT WORK", "COMMIT WORK", "BEGIN ISOLATION LEVEL SERIALIZABLE",
	"PREPARE TRANSACTION 'a'", "COMMIT PREPARED 'a'", "ROLLBACK PREPARED 'a'",
	"prepare/**/transaction 'a'", "PREPARE --x\nTRANSACTION 'a'",
	"rollback", "RollBack And Chain", "cOmMiT;",
	" \t\r\n\fCOMMIT", "\vCOMMIT", ";COMMIT", " ; ;\n;COMMIT", ";;/* */;COMMIT",
	"-- note\nCOMMIT", "-- note\rCOMMIT", "--\nCOMMIT", "/* note */COMMIT", "/* /* nested */ still */ COMMIT",
	"/*/**/*/COMMIT", "/***/COMMIT", "/* -- */COMMIT", "--/*\nCOMMIT", "/* ' */ COMMIT", "-- '\nCOMMIT",
	"SELECT 1; COMMIT", "SELECT 1;COMMIT", "SELECT 1; -- note\n COMMIT", "SELECT 1 /* ; */; COMMIT",
	"SELECT ';'; COMMIT", "SELECT '''; '; COMMIT", `SELECT 1 AS "a;"; COMMIT`, `SELECT 1 AS "a"""; COMMIT`,
	"SELECT $$ ; $$; COMMIT", "SELECT $a$ $$ ' $a$; COMMIT", "SELECT $ä_1$ ' $ä_1$; COMMIT", "SELECT $a$ $b$ $a$; COMMIT",
	`SELECT E'\''; COMMIT`, `SELECT e'\\'; COMMIT`, `SELECT E'a''\''; COMMIT`, `SELECT U&'\0041'; COMMIT`, `SELECT U&'!0041' UESCAPE '!'; COMMIT`,
	`SELECT 'a\'; COMMIT`, `SELECT N'a'; COMMIT`, `SELECT B'01'; COMMIT`, `SELECT X'0f'; COMMIT`,
	"SELECT E'a'\n'\\' || '; COMMIT; --'", // two strings become one, with the escapes of the first
	"SELECT '\\' AS \"'\", E'a'\n'\\' , ' ;COMMIT;--'",
	"SELECT 1 AS a$$; COMMIT; SELECT 2 AS a$$", "SELECT 1 AS e$a$; COMMIT; SELECT 2 AS e$a$",
	"SELECT 1+--\n1; COMMIT", "SELECT 1*/**/1; COMMIT", "SELECT 1 -/* ' */- 1; COMMIT",
	"PREPARE a AS SELECT 1; COMMIT", "DO $$ BEGIN NULL; END $$; COMMIT",
	"CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; END; COMMIT",
	"CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql BEGIN ATOMIC END; END",
	"CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1 case; SELECT 2 AS end; END; COMMIT",
	"CREATE FUNCTION begin(atomic int) RETURNS int LANGUAGE sql AS 'select 1'; END",
	"CREATE FUNCTION pg_temp.f(begin int) RETURNS int LANGUAGE sql AS 'select 1'; END",
	"SELECT 1 AS begin, 2 AS atomic; END",
}

// harmless are texts that leave the transaction alone.
var harmless = []string{
	"", " ", ";", "-- COMMIT", "/* COMMIT */", "/* /* */ COMMIT */", "SELECT 'COMMIT'", "SELECT '; COMMIT'", "SELECT ''' ; COMMIT'",
	`SELECT "commit" FROM (SELECT 1 AS "commit") AS t`, "SELECT commit FROM (SELECT 1 AS commit) AS t", `SELECT 1 AS "; COMMIT"`,
	"PREPARE a AS SELECT 1", "PREPARE transactions AS SELECT 1", "DEALLOCATE ALL",
	"DO $$ BEGIN NULL; END $$", "DO $body$ BEGIN PERFORM '; COMMIT'; END $body$", "DO 'BEGIN NULL; END'",
	"WITH commit AS (SELECT 1) SELECT * FROM commit", "SELECT 1; SELECT 2", "SELECT 1; -- COMMIT",
	"SELECT $$; COMMIT; $$", "SELECT $a$; COMMIT; $$ $b$ $a$", "SELECT $1; -- ; COMMIT", "SELECT a.commit FROM (SELECT 1 AS commit) AS a",
	`SELECT E'\'; COMMIT'`, "SELECT E'a'\n'\\'; COMMIT'", "SELECT E'a' -- note\n -- more\n 'b\\'; COMMIT'",
	"SELECT 'a'\n'; COMMIT'", "SET LOCAL lock_timeout = '1s'", "SET TRANSACTION READ ONLY", "SHOW transaction_isolation",
	"LOCK TABLE pg_class IN ACCESS SHARE MODE", "SELECT 1 AS begin, 2 AS atomic",
	"CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS $$ SELECT 1; $$",
	"CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; END",
	"CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql BEGIN ATOMIC; SELECT 1; SELECT 2;; END;",
	"create or replace function pg_temp.f(a int)\nreturns int language sql\nbegin /* ; */ atomic\n select case a when 1 then 2 else 3 end;\nend; SELECT 1",
	"CREATE PROCEDURE pg_temp.p() LANGUAGE sql BEGIN ATOMIC END; CREATE PROCEDURE pg_temp.q() BEGIN ATOMIC END",
}

func TestTransactionControlIsRefusedWhereverItStands(t *testing.T) {
	t.Parallel()
	for _, text := range refused {
		require.ErrorIs(t, refuseControl(text), ErrTransactionControl, "%q", text)
	}
}

func TestStatementsThatLeaveTheTransactionAlonePass(t *testing.T) {
	t.Parallel()
	for _, text := range harmless {
		require.NoError(t, refuseControl(text), "%q", text)
	}
}

func TestTheServerAgreesWithTheTablesOfControl(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	for _, text := range harmless {
		o := w.inTransaction(text)
		require.Empty(t, o.control(), "%q: %v", text, o)
	}
	for _, text := range refused {
		// Not all can run (\v is space from PostgreSQL 16 on, a savepoint may
		// be missing), but none may pass for a plain statement.
		o := w.inTransaction(text)
		require.True(t, o.control() != "" || o.err != "", "%q: %v", text, o)
	}
}

// TestWhatTheServerTakesForWhiteSpaceHidesNoControl asks the server about every
// rune of the first planes that a careless scanner takes for space, or does not.
func TestWhatTheServerTakesForWhiteSpaceHidesNoControl(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	runes := []rune{0xfeff, 0x85, 0xa0, 0x1680, 0x180e, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0x200b, 0x200d, 0x2060}
	for r := rune(1); r < 0x80; r++ {
		runes = append(runes, r)
	}
	for r := rune(0x2000); r < 0x2010; r++ {
		runes = append(runes, r)
	}
	for _, r := range runes {
		for _, text := range []string{string(r) + "COMMIT", "SELECT 1;" + string(r) + "COMMIT", "COMMIT" + string(r)} {
			if o := w.inTransaction(text); o.control() != "" {
				require.ErrorIs(t, refuseControl(text), ErrTransactionControl, "%q: %v", text, o)
			}
		}
	}
}

func TestTheErrorOfRefusedControlNamesTheWord(t *testing.T) {
	t.Parallel()
	err := refuseControl("SELECT 1; /* x */ rollback and chain")
	require.True(t, errors.Is(err, ErrTransactionControl))
	require.ErrorContains(t, err, "ROLLBACK AND")
}
