//go:build unix

package fetch_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidings-go/tidings/persistence/pgserver"
)

// pack makes the package of the installed binaries as the repository holds it:
// a jar with one .txz.
//
// PostgreSQL finds its other folders relative to the program, by the way from
// one compiled-in folder to the other: from /usr/lib/postgresql/15/bin to
// /usr/share/postgresql/15 on Debian. A tree that keeps these ways works
// anywhere, so the archive keeps them below the folders' common parent. What
// embedded-postgres expects at the top, bin, is then a folder of links: the
// programs resolve links before they look around, and so does pgserver. Where
// the installation has bin, lib and share side by side, bin is simply bin.
func pack(ctx context.Context) (jar []byte, installed pgserver.Binaries, err error) {
	installed, folders, err := installation(ctx)
	if err != nil {
		return nil, installed, err
	}
	var content bytes.Buffer
	p := &packer{tar: tar.NewWriter(&content), root: commonParent(folders)}
	bin := folders[0]
	for _, name := range programs {
		p.file(filepath.Join(bin, name))
		if target := p.name(filepath.Join(bin, name)); target != "bin/"+name {
			p.link("bin/"+name, "../"+target)
		}
	}
	p.tree(folders[1], func(path string) bool {
		kind, name, deeper := strings.Cut(strings.TrimPrefix(path, folders[1]+"/"), "/")
		return kind != "man" && (kind != "extension" || !deeper || strings.HasPrefix(name, "plpgsql"))
	})
	p.tree(folders[2], func(path string) bool {
		return filepath.Dir(path) == folders[2] && slices.Contains([]string{".so", ".dylib"}, filepath.Ext(path)) &&
			!strings.HasPrefix(filepath.Base(path), "llvmjit")
	})
	if p.err != nil {
		return nil, installed, p.err
	}
	if err := p.tar.Close(); err != nil {
		return nil, installed, err
	}
	jar, err = zipped("postgres-test.txz", storedXZ(content.Bytes()))
	return jar, installed, err
}

var programs = []string{"initdb", "pg_ctl", "postgres"}

// installation asks a server of the installed binaries for its folders:
// programs, shared files, libraries.
func installation(ctx context.Context) (pgserver.Binaries, []string, error) {
	server, err := pgserver.Start(ctx, pgserver.Config{TempDir: pgserver.MemoryDir()})
	if err != nil {
		return pgserver.Binaries{}, nil, err
	}
	defer func() { _ = server.Stop(ctx) }()
	db, err := sql.Open("postgres", server.URL("postgres"))
	if err != nil {
		return pgserver.Binaries{}, nil, err
	}
	defer db.Close()
	var folders []string
	for _, name := range []string{"BINDIR", "SHAREDIR", "PKGLIBDIR"} {
		var dir string
		if err := db.QueryRowContext(ctx, `SELECT setting FROM pg_config WHERE name = $1`, name).Scan(&dir); err != nil {
			return pgserver.Binaries{}, nil, fmt.Errorf("%s: %w", name, err)
		}
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return pgserver.Binaries{}, nil, err
		}
		folders = append(folders, dir)
	}
	return server.Binaries(), folders, nil
}

// commonParent is the deepest folder that holds all of them, and none is itself.
func commonParent(folders []string) string {
	parent := filepath.Dir(folders[0])
	for slices.ContainsFunc(folders, func(dir string) bool {
		return !strings.HasPrefix(dir, strings.TrimSuffix(parent, "/")+"/")
	}) {
		parent = filepath.Dir(parent)
	}
	return parent
}

// packer writes files under their path below root.
type packer struct {
	tar  *tar.Writer
	root string
	err  error
}

func (p *packer) name(path string) string {
	name, err := filepath.Rel(p.root, path)
	if err != nil && p.err == nil {
		p.err = err
	}
	return filepath.ToSlash(name)
}

func (p *packer) add(header tar.Header, content []byte) {
	if p.err == nil {
		p.err = p.tar.WriteHeader(&header)
	}
	if p.err == nil {
		_, p.err = p.tar.Write(content)
	}
}

// file adds a file, or what a link leads to. Modes are the archive's own: group
// writable, as some are.
func (p *packer) file(path string) {
	info, err := os.Stat(path)
	if err != nil {
		p.err = err
		return
	}
	content, err := os.ReadFile(path)
	if err != nil {
		p.err = err
		return
	}
	mode := int64(info.Mode().Perm() | 0o020)
	p.add(tar.Header{Typeflag: tar.TypeReg, Name: p.name(path), Mode: mode, Size: int64(len(content))}, content)
}

func (p *packer) link(name, target string) {
	p.add(tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777}, nil)
}

func (p *packer) tree(dir string, wanted func(path string) bool) {
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !wanted(path) {
			return err
		}
		p.file(path)
		return p.err
	})
	if p.err == nil {
		p.err = err
	}
}

// zipped makes a zip with one file, stored.
func zipped(name string, content []byte) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	file, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
	if err != nil {
		return nil, err
	}
	if _, err := file.Write(content); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}
