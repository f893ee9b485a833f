package persistence

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
)

// wire is a session that speaks PostgreSQL's protocol and sees what drivers
// hide: the tag of every statement of a text that was executed. It panics when
// the session ends: inside a fuzz target no outer test may be called.
type wire struct {
	conn net.Conn
	in   *bufio.Reader
}

// outcome is what the server did with a text.
type outcome struct {
	tags   []string // of the statements that were executed
	err    string   // the error that ended it, or ""
	status byte     // I idle, T in a transaction, E in a failed one
}

// control returns the first tag of a statement that controls the transaction.
func (o outcome) control() string {
	for _, tag := range o.tags {
		switch tag {
		case "BEGIN", "START TRANSACTION", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "PREPARE TRANSACTION":
			return tag
		}
	}
	return ""
}

func newWire(t testing.TB) *wire {
	server := pgtest.Server(t)
	conn, err := net.Dial("unix", filepath.Join(server.SocketDir(), ".s.PGSQL."+strconv.Itoa(server.Port())))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	w := &wire{conn: conn, in: bufio.NewReader(conn)}
	body := binary.BigEndian.AppendUint32(nil, 3<<16)
	body = append(body, "user\x00postgres\x00database\x00postgres\x00\x00"...)
	_, err = conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body)+4)), body...))
	require.NoError(t, err)
	require.Empty(t, w.answer().err)
	return w
}

// run sends a text by the simple protocol.
func (w *wire) run(text string) outcome {
	w.send('Q', text+"\x00")
	return w.answer()
}

func (w *wire) send(kind byte, body string) {
	message := append([]byte{kind}, binary.BigEndian.AppendUint32(nil, uint32(len(body)+4))...)
	if _, err := w.conn.Write(append(message, body...)); err != nil {
		panic(err)
	}
}

func (w *wire) answer() (o outcome) {
	for {
		head := make([]byte, 5)
		if _, err := io.ReadFull(w.in, head); err != nil {
			panic(err)
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(w.in, body); err != nil {
			panic(err)
		}
		switch head[0] {
		case 'C':
			o.tags = append(o.tags, strings.TrimRight(string(body), "\x00"))
		case 'E':
			o.err = strings.ReplaceAll(string(body), "\x00", "|")
		case 'G': // the server waits for COPY data
			w.send('f', "no\x00")
		case 'Z':
			o.status = body[0]
			return o
		}
	}
}

// inTransaction runs a text inside a transaction that is rolled back afterwards.
func (w *wire) inTransaction(text string) outcome {
	if o := w.run("BEGIN"); o.status != 'T' {
		panic("BEGIN: " + o.String())
	}
	o := w.run(text)
	w.run("ROLLBACK")
	return o
}

func (o outcome) String() string {
	return fmt.Sprintf("tags %q, error %q, status %c", o.tags, o.err, o.status)
}
