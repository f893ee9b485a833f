package doctor

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/lib/pq"
)

const oldestVersion = 140000

func (x *examination) settings(ctx context.Context) (map[string]string, error) {
	var rows []struct{ Name, Setting string }
	if err := x.DB.SelectContext(ctx, &rows, settingsSQL); err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, r := range rows {
		all[r.Name] = r.Setting
	}
	return all, nil
}

func checkVersion(ctx context.Context, x *examination) error {
	s, err := x.settings(ctx)
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(s["server_version_num"]); err != nil || n < oldestVersion {
		x.problem("upgrade the server", "PostgreSQL %s; the kernel needs 14 or newer", s["server_version"])
	}
	x.well("PostgreSQL %s", s["server_version"])
	return nil
}

func checkSettings(ctx context.Context, x *examination) error {
	s, err := x.settings(ctx)
	if err != nil {
		return err
	}
	if s["in_recovery"] == "true" || s["default_transaction_read_only"] == "on" {
		x.problem("connect to the primary, or reset default_transaction_read_only", "the database takes no writes")
	}
	status := Problem
	if x.Development {
		status = Note
	}
	for _, name := range []string{"fsync", "full_page_writes"} {
		if s[name] == "off" {
			x.add(status, "turn it on, unless the database may be lost", "%s is off: a crash of the machine can corrupt the database", name)
		}
	}
	if s["synchronous_commit"] == "off" {
		x.problem("turn it on for this database or user",
			"synchronous_commit is off: a crash of the server can lose events and effects whose commit was reported")
	}
	for _, name := range []string{"autovacuum", "track_counts"} {
		if s[name] == "off" {
			x.problem("turn it on", "%s is off: the job table is not vacuumed, and claims get slow", name)
		}
	}
	x.well("durable, vacuumed, writable")
	return nil
}

func checkPrivileges(ctx context.Context, x *examination) error {
	var schemas, names []string
	for _, t := range x.Tables {
		schemas, names = append(schemas, t[0]), append(names, t[1])
	}
	var rows []struct{ Name, Missing string }
	if err := x.DB.SelectContext(ctx, &rows, privilegesSQL, pq.Array(schemas), pq.Array(names)); err != nil {
		return err
	}
	for _, r := range rows {
		x.problem("grant it to the app's user, with USAGE on the schema", "no privilege on %s: %s", r.Name, r.Missing)
	}
	var sees bool
	if err := x.DB.GetContext(ctx, &sees, seesOthersSQL); err != nil {
		return err
	}
	if !sees {
		x.note("GRANT pg_read_all_stats to it, so that metrics and doctor see them", "the app's user does not see the transactions of other users")
	}
	if len(rows) == 0 {
		x.ok("the app's user may read and write %d tables", len(names))
	}
	return nil
}

func checkConnections(ctx context.Context, x *examination) error {
	var s struct{ Used, Most int }
	if err := x.DB.GetContext(ctx, &s, sessionsSQL); err != nil {
		return err
	}
	if need := x.Config.Connections(); x.PoolSize > 0 && x.PoolSize < need {
		x.problem("raise TIDINGS_POOL_SIZE or lower TIDINGS_WORKERS", "the pool has %d connections, %d workers need %d", x.PoolSize, x.Config.Workers, need)
	}
	nodes, err := x.nodes(ctx)
	if err != nil {
		return err
	}
	if want := x.PoolSize * max(1, nodes); want > s.Most {
		x.problem("lower TIDINGS_POOL_SIZE and TIDINGS_WORKERS, raise max_connections, or put PgBouncer between (TIDINGS_PGBOUNCER)",
			"%d nodes with pools of %d may want %d connections, the server has %d", max(1, nodes), x.PoolSize, want, s.Most)
	} else if s.Used*10 > s.Most*9 {
		x.problem("find who holds them in pg_stat_activity, or raise max_connections", "%d of %d connections are taken", s.Used, s.Most)
	}
	x.well("%d of %d connections are taken; this app's pool has %d", s.Used, s.Most, x.PoolSize)
	return nil
}

// clockTolerance is below what anybody would notice in logs.
const clockTolerance = time.Second

func checkClock(ctx context.Context, x *examination) error {
	var server time.Time
	before := time.Now()
	if err := x.DB.GetContext(ctx, &server, `SELECT clock_timestamp()`); err != nil {
		return err
	}
	trip := time.Since(before)
	offset := server.Sub(before.Add(trip / 2))
	if offset.Abs() > clockTolerance+trip {
		x.note("synchronise the clocks: logs and traces of this machine tell other times than the database",
			"the database's clock is %v ahead of this machine's (delivery goes by the database's alone)", offset.Round(time.Millisecond))
	}
	x.well("%v beside the database's clock", offset.Abs().Round(time.Millisecond))
	return nil
}

func checkSnapshots(ctx context.Context, x *examination) error {
	var held []struct {
		What   string
		Age    float64
		Remedy string
	}
	if err := x.DB.SelectContext(ctx, &held, snapshotsSQL, x.LongSnapshot.Seconds()); err != nil {
		return err
	}
	for _, h := range held {
		x.problem(h.Remedy, "%s has held a transaction open for %v: nothing that ended since can be vacuumed, and claims get slow",
			h.What, time.Duration(h.Age*float64(time.Second)).Round(time.Second))
	}
	var slots []struct {
		Name         string `db:"slot_name"`
		Transactions int64
		Active       bool
	}
	if err := x.DB.SelectContext(ctx, &slots, slotsSQL); err != nil {
		return err
	}
	for _, s := range slots {
		x.problem(fmt.Sprintf("let its reader catch up, or SELECT pg_drop_replication_slot(%s)", pq.QuoteLiteral(s.Name)),
			"replication slot %s (active: %t) holds back vacuum by %d transactions", s.Name, s.Active, s.Transactions)
	}
	x.well("no transaction older than %v", x.LongSnapshot)
	return nil
}
