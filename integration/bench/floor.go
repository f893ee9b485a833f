package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// floorDDL is the least that the work needs: a job with its token, an effect, a
// business row.
var floorDDL = []string{
	`CREATE TABLE biz (id bigserial PRIMARY KEY, customer bigint NOT NULL, amount bigint NOT NULL, note text NOT NULL)`,
	`CREATE TABLE effect (id bigserial PRIMARY KEY, job_id bigint NOT NULL, note text NOT NULL)`,
	`CREATE TABLE job (id bigint PRIMARY KEY, event_id uuid NOT NULL, listener text NOT NULL, state smallint NOT NULL,
		attempt int NOT NULL, token uuid, lease_until timestamptz, created_at timestamptz NOT NULL)`,
	`CREATE INDEX ON job (created_at, id) WHERE state = 0`,
}

// floorJobs is how many jobs each client of pgbench may end in a run.
const floorJobs = 60000

const (
	floorProcess = `\set i :i + 1
\set jid :client_id * 60000 + :i
BEGIN;
UPDATE job SET state = 2 WHERE id = :jid AND token = '00000000-0000-0000-0000-000000000001';
INSERT INTO effect (job_id, note) VALUES (:jid, 'x');
COMMIT;
`
	floorBusiness = `BEGIN;
INSERT INTO biz (customer, amount, note) VALUES (:client_id, 100, 'x');
COMMIT;
`
)

// pgbench runs a script with clients for a time and returns transactions per
// second.
func (s server) pgbench(ctx context.Context, script string, clients int, d time.Duration) (float64, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "script.sql")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.Binaries().Dir, "pgbench"), "-n", "-M", "prepared", "-D", "i=0",
		"-c", strconv.Itoa(clients), "-j", "2", "-T", strconv.Itoa(int(d.Seconds())), "-f", file,
		"-h", "127.0.0.1", "-p", strconv.Itoa(s.Port()), "-U", "postgres", "floor")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("pgbench: %w: %s", err, out)
	}
	m := regexp.MustCompile(`tps = ([0-9.]+)`).FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("pgbench printed no rate: %s", out)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}

// floor prepares the floor's database and runs a script.
func (s server) floor(ctx context.Context, script string, clients int, d time.Duration) (float64, error) {
	db, err := s.database(ctx, "floor", 2, floorDDL...)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	err = execute(ctx, db, `TRUNCATE job, effect, biz`, fmt.Sprintf(`INSERT INTO job
		SELECT g, gen_random_uuid(), 'billing.send_invoice', 1, 1, '00000000-0000-0000-0000-000000000001', now(), now()
		FROM generate_series(1, %d) g`, floorJobs*clients), `VACUUM ANALYZE job`, `CHECKPOINT`)
	if err != nil {
		return 0, err
	}
	return s.pgbench(ctx, script, clients, d)
}
