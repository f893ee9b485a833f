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

const (
	floorClients   = 8
	floorContender = "floor: pgbench, 8 clients"

	// floorSpeed is more jobs a second than a client of pgbench ends; a faster
	// one runs out of jobs, and the run fails.
	floorSpeed = 4000

	// with the number of jobs of each client
	floorProcessScript = `\set i :i + 1
\set jid :client_id * %d + :i
BEGIN;
UPDATE job SET state = 2 WHERE id = :jid AND token = '00000000-0000-0000-0000-000000000001';
INSERT INTO effect (job_id, note) VALUES (:jid, 'x');
COMMIT;
`
	floorBusinessScript = `BEGIN;
INSERT INTO biz (customer, amount, note) VALUES (:client_id, 100, 'x');
COMMIT;
`
)

// floorProcess runs the statements of a job for a time.
func (s server) floorProcess(ctx context.Context, d time.Duration) ([]float64, error) {
	jobs := int(d.Seconds()*floorSpeed) + floorSpeed
	if err := s.floorDatabase(ctx, jobs*(floorClients+1)); err != nil {
		return nil, err
	}
	figures, n, err := s.pgbench(ctx, fmt.Sprintf(floorProcessScript, jobs), d)
	if err != nil {
		return nil, err
	}
	return figures, s.verify(ctx, "floor", `SELECT (SELECT count(*) FROM job WHERE state = 2) = $1
		AND (SELECT count(*) FROM effect) = $1`, n)
}

// floorBusiness runs the bare business transaction for a time.
func (s server) floorBusiness(ctx context.Context, d time.Duration) ([]float64, error) {
	if err := s.floorDatabase(ctx, 0); err != nil {
		return nil, err
	}
	figures, n, err := s.pgbench(ctx, floorBusinessScript, d)
	if err != nil {
		return nil, err
	}
	return figures, s.verify(ctx, "floor", `SELECT (SELECT count(*) FROM biz) = $1`, n)
}

// floorDatabase prepares the floor's database, with claimed jobs.
func (s server) floorDatabase(ctx context.Context, jobs int) error {
	db, err := s.database(ctx, "floor", 2, floorDDL...)
	if err != nil {
		return err
	}
	defer db.Close()
	return execute(ctx, db, `TRUNCATE job, effect, biz`, fmt.Sprintf(`INSERT INTO job
		SELECT g, gen_random_uuid(), 'billing.send_invoice', 1, 1, '00000000-0000-0000-0000-000000000001', now(), now()
		FROM generate_series(1, %d) g`, jobs), `VACUUM ANALYZE job`, `CHECKPOINT`)
}

var (
	pgbenchDone = regexp.MustCompile(`actually processed: ([0-9]+)`)
	pgbenchRate = regexp.MustCompile(`tps = ([0-9.]+)`)
)

// pgbench runs a script for a time. It returns its figures and how many
// transactions it ran.
func (s server) pgbench(ctx context.Context, script string, d time.Duration) ([]float64, int, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "script.sql")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return nil, 0, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.Binaries().Dir, "pgbench"), "-n", "-M", "prepared", "-D", "i=0",
		"-c", strconv.Itoa(floorClients), "-j", "2", "-T", strconv.Itoa(max(1, int(d.Seconds()))), "-f", file,
		"-h", "127.0.0.1", "-p", strconv.Itoa(s.Port()), "-U", "postgres", "floor")
	m := s.meter()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, 0, fmt.Errorf("pgbench: %w: %s", err, out)
	}
	done, rate := pgbenchDone.FindSubmatch(out), pgbenchRate.FindSubmatch(out)
	if done == nil || rate == nil {
		return nil, 0, fmt.Errorf("pgbench printed no rate: %s", out)
	}
	n, err := strconv.Atoi(string(done[1]))
	if err != nil {
		return nil, 0, err
	}
	figures := m.per(n)
	figures[0], err = strconv.ParseFloat(string(rate[1]), 64)
	return figures, n, err
}
