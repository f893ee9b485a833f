package pgserver

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
)

const (
	tailBytes = 4 << 10
	tailLines = 20
)

// serverLog is where the server writes; it can quote the end.
type serverLog struct {
	file *os.File // nil where Config.Log is set
	user io.Writer

	mu    sync.Mutex
	start int64  // size of the file at the last mark
	last  []byte // end of what went to user since the last mark
}

// output is what the server process gets: the file itself, which needs no
// goroutine and takes the log also after this process died.
func (l *serverLog) output() io.Writer {
	if l.file != nil {
		return l.file
	}
	return l
}

// Write passes the log on and keeps its end. An error of the user's writer is
// dropped: it must not stop the server.
func (l *serverLog) Write(p []byte) (int, error) {
	_, _ = l.user.Write(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = append(l.last, p...)
	if over := len(l.last) - tailBytes; over > 0 {
		l.last = append(l.last[:0], l.last[over:]...)
	}
	return len(p), nil
}

// mark begins a new run: tail quotes nothing older.
func (l *serverLog) mark() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = nil
	if l.file != nil {
		if info, err := l.file.Stat(); err == nil {
			l.start = info.Size()
		}
	}
}

// tail is the end of the log since the mark.
func (l *serverLog) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return tailOf(l.last)
	}
	info, err := l.file.Stat()
	if err != nil {
		return ""
	}
	from := max(l.start, info.Size()-tailBytes)
	content := make([]byte, max(0, info.Size()-from))
	n, err := l.file.ReadAt(content, from)
	if err != nil && err != io.EOF {
		return ""
	}
	return tailOf(content[:n])
}

func (l *serverLog) close() {
	if l != nil && l.file != nil {
		_ = l.file.Close()
	}
}

// tailOf is the last lines of text.
func tailOf(text []byte) string {
	text = bytes.TrimSpace(text)
	if len(text) > tailBytes {
		text = text[len(text)-tailBytes:]
	}
	lines := strings.Split(strings.ToValidUTF8(string(text), "?"), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
