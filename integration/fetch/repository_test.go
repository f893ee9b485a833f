//go:build unix

package fetch_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// jarPath is how embedded-postgres asks: system, architecture and version, twice
// the same.
var jarPath = regexp.MustCompile(`^/maven/io/zonky/test/postgres/embedded-postgres-binaries-([a-z0-9-]+)/([0-9.]+)/` +
	`embedded-postgres-binaries-([a-z0-9-]+)-([0-9.]+)\.jar$`)

// repository is a Maven repository on a loopback address.
type repository struct {
	jar      []byte
	checksum string          // empty: that of the jar
	jarCode  int             // zero: 200
	sumCode  int             // zero: 200
	breakAt  int             // bytes after which the connection breaks
	pauseAt  int             // bytes after which hold is waited for
	hold     <-chan struct{} // nil: no pause
	user     string          // required as basic authentication, password secret
	paused   chan<- struct{} // gets one value at the pause, if it has room
	asked    atomic.Int32    // jars asked for
	lastJar  atomic.Pointer[string]
	server   *httptest.Server
	released chan struct{} // closed at the test's end
}

// serve starts a repository that ends with the test.
func (r *repository) serve(t *testing.T) (url string) {
	t.Helper()
	r.released = make(chan struct{})
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	t.Cleanup(func() { close(r.released) })
	return r.server.URL + "/maven/"
}

func (r *repository) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	user, password, _ := request.BasicAuth()
	path, isSum := strings.CutSuffix(request.URL.Path, ".sha256")
	match := jarPath.FindStringSubmatch(path)
	switch {
	case r.user != "" && (user != r.user || password != "secret"):
		w.WriteHeader(http.StatusUnauthorized)
	case match == nil || match[1] != match[3] || match[2] != match[4]:
		w.WriteHeader(http.StatusTeapot)
	case isSum:
		r.serveSum(w)
	default:
		r.asked.Add(1)
		r.lastJar.Store(&path)
		r.serveJar(w)
	}
}

func (r *repository) serveSum(w http.ResponseWriter) {
	if r.sumCode != 0 {
		w.WriteHeader(r.sumCode)
		return
	}
	text := r.checksum
	if text == "" {
		digest := sha256.Sum256(r.jar)
		text = hex.EncodeToString(digest[:])
	}
	_, _ = w.Write([]byte(text))
}

func (r *repository) serveJar(w http.ResponseWriter) {
	if r.jarCode != 0 {
		w.WriteHeader(r.jarCode)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(r.jar)))
	rest := r.jar
	if r.hold != nil {
		_, _ = w.Write(rest[:r.pauseAt])
		rest = rest[r.pauseAt:]
		_ = http.NewResponseController(w).Flush()
		select {
		case r.paused <- struct{}{}:
		default:
		}
		select {
		case <-r.hold:
		case <-r.released:
			panic(http.ErrAbortHandler)
		case <-time.After(patience):
			panic(http.ErrAbortHandler)
		}
	}
	if r.breakAt > 0 {
		_, _ = w.Write(rest[:r.breakAt])
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(rest)
}
