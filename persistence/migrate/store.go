package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/pressly/goose/v3/database"

	"github.com/tidings-go/tidings/persistence/schema"
)

// VersionTable is the name of goose's table in the framework's schema.
const VersionTable = "schema_migration"

// store keeps goose's versions. Goose's own store neither quotes names nor makes
// a schema.
type store struct{ framework string }

var _ database.StoreExtender = store{}

func (s store) Tablename() string { return schema.Qualified(s.framework, VersionTable) }

func (s store) sql(query string) string {
	return fmt.Sprintf(query+"%[3]s", schema.Quote(s.framework), s.Tablename(), "")
}

// lockID is the number of the advisory lock of an app's migrations.
func (s store) lockID() int64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte("tidings migrations " + s.framework)) // never fails
	return int64(hash.Sum64())
}

// CreateVersionTable makes the table; several sessions may do so at once, each
// in a transaction.
func (s store) CreateVersionTable(ctx context.Context, db database.DBTxConn) error {
	if _, err := db.ExecContext(ctx, versionLock, s.lockID()+1); err != nil {
		return fmt.Errorf("create version table: %w", err)
	}
	for _, statement := range []string{createSchema, createVersion} {
		if _, err := db.ExecContext(ctx, s.sql(statement)); err != nil {
			return fmt.Errorf("create version table: %w", err)
		}
	}
	return nil
}

func (s store) TableExists(ctx context.Context, db database.DBTxConn) (exists bool, err error) {
	if err := db.QueryRowContext(ctx, versionExists, s.Tablename()).Scan(&exists); err != nil {
		return false, fmt.Errorf("find version table: %w", err)
	}
	return exists, nil
}

func (s store) Insert(ctx context.Context, db database.DBTxConn, r database.InsertRequest) (err error) {
	if r.Version == 0 {
		_, err = db.ExecContext(ctx, s.sql(insertZero))
	} else {
		_, err = db.ExecContext(ctx, s.sql(insertVersion), r.Version)
	}
	if err != nil {
		return fmt.Errorf("insert version %d: %w", r.Version, err)
	}
	return nil
}

func (s store) Delete(ctx context.Context, db database.DBTxConn, version int64) error {
	if _, err := db.ExecContext(ctx, s.sql(deleteVersion), version); err != nil {
		return fmt.Errorf("delete version %d: %w", version, err)
	}
	return nil
}

func (s store) GetMigration(ctx context.Context, db database.DBTxConn, version int64) (*database.GetMigrationResult, error) {
	var r database.GetMigrationResult
	err := db.QueryRowContext(ctx, s.sql(getVersion), version).Scan(&r.Timestamp, &r.IsApplied)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, fmt.Errorf("%w: %d", database.ErrVersionNotFound, version)
	case err != nil:
		return nil, fmt.Errorf("get version %d: %w", version, err)
	}
	return &r, nil
}

func (s store) GetLatestVersion(ctx context.Context, db database.DBTxConn) (int64, error) {
	var version sql.NullInt64
	if err := db.QueryRowContext(ctx, s.sql(latestVersion)).Scan(&version); err != nil {
		return -1, fmt.Errorf("get latest version: %w", err)
	}
	if !version.Valid {
		return -1, fmt.Errorf("latest %w", database.ErrVersionNotFound)
	}
	return version.Int64, nil
}

func (s store) ListMigrations(ctx context.Context, db database.DBTxConn) ([]*database.ListMigrationsResult, error) {
	rows, err := db.QueryContext(ctx, s.sql(listVersions))
	if err != nil {
		return nil, fmt.Errorf("list versions: %w", err)
	}
	defer rows.Close()
	var all []*database.ListMigrationsResult
	for rows.Next() {
		var r database.ListMigrationsResult
		if err := rows.Scan(&r.Version, &r.IsApplied); err != nil {
			return nil, fmt.Errorf("list versions: %w", err)
		}
		all = append(all, &r)
	}
	return all, rows.Err()
}
