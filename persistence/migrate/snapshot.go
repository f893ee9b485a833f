package migrate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/tidings-go/tidings/persistence/schema"
)

// format is in every snapshot, so that a later one can be told apart.
const format = "tidings schema snapshot, version 1"

// snapshotSuffix ends the names of snapshot files.
const snapshotSuffix = ".snapshot.json"

// Snapshot is the model as it is after a candidate.
type Snapshot struct {
	Format     string   `json:"format"`
	Name       string   `json:"name"`
	Version    int64    `json:"version"`    // of the candidate's last SQL file
	Migrations []string `json:"migrations"` // the candidate's SQL files
	// Predecessor is the fingerprint of the snapshot that the candidate was
	// planned from; empty: from nothing.
	Predecessor string `json:"predecessor"`
	// Fingerprint is the SHA-256 of this snapshot with an empty fingerprint.
	Fingerprint string `json:"fingerprint"`
	// Kept names tables in Model that the app does not declare any more.
	Kept  []TableName  `json:"kept,omitempty"`
	Model schema.Model `json:"model"`
}

// TableName names a table.
type TableName struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
}

// File returns the name of the snapshot's file.
func (s Snapshot) File() string { return fmt.Sprintf("%d_%s%s", s.Version, s.Name, snapshotSuffix) }

// Keeps tells whether the table is kept though the app does not declare it.
func (s Snapshot) Keeps(schema, name string) bool {
	for _, t := range s.Kept {
		if t.Schema == schema && t.Name == name {
			return true
		}
	}
	return false
}

// seal sets the fingerprint.
func (s *Snapshot) seal() error {
	print, err := s.fingerprint()
	s.Fingerprint = print
	return err
}

func (s Snapshot) fingerprint() (string, error) {
	s.Fingerprint = ""
	text, err := schema.MarshalCanonical(s)
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(hash[:]), nil
}

// readSnapshot reads a snapshot and refuses one that was changed by any other
// than this package.
func readSnapshot(file string, text []byte) (Snapshot, error) {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) // git may have done this
	var s Snapshot
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, fmt.Errorf("%w: %s is not readable: %w; restore it from version control", ErrChain, file, err)
	}
	if s.Format != format {
		return s, fmt.Errorf("%w: %s says format %q, this version reads %q", ErrChain, file, s.Format, format)
	}
	print, err := s.fingerprint()
	if err != nil {
		return s, err
	}
	canonical, err := schema.MarshalCanonical(s)
	if err != nil {
		return s, err
	}
	if print != s.Fingerprint || !bytes.Equal(canonical, text) || s.File() != file {
		return s, fmt.Errorf("%w: %s was edited: its fingerprint does not fit; restore it from version control "+
			"(a snapshot is written by `schema plan` only; to change the schema, change the declarations and plan)", ErrChain, file)
	}
	return s, nil
}
