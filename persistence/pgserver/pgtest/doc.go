// Package pgtest gives tests real PostgreSQL databases: one server for the test
// binary, a fresh database for each test.
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
//	func TestTransfer(t *testing.T) {
//		t.Parallel()
//		db := pgtest.Open(t, `CREATE TABLE account (id bigint PRIMARY KEY, cents bigint NOT NULL)`)
//		// …
//	}
//
// With goleak, which must look after the server was stopped:
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Runner{M: m}) }
//
// The server starts on first use (0.2 to 0.4 s, the first time on a machine 1 to
// 2 s), with fsync off and 300 connections, on a private unix socket. A database
// is a copy of a template that holds the test's DDL: 30 to 50 ms, the template
// itself once per distinct DDL. Where no PostgreSQL is installed the tests fail
// and say what to install; they are never skipped.
//
// The data is in memory where there is room (pgserver.MemoryDir), else in the
// temporary folder; $TIDINGS_PG_TMP chooses otherwise.
//
// The server dies with the test binary, whatever way that ends. A test that
// crashes or restarts its server takes one of its own: pgserver.Start.
package pgtest
