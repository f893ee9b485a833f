package pgserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// stallLimit is how long a download may receive nothing.
const stallLimit = time.Minute

var errStalled = fmt.Errorf("nothing received for %v", stallLimit)

// relay stands between embedded-postgres and the repository, on a loopback
// address that only it knows. The library takes no context, hides why a request
// failed, and takes every answer but 200 for a missing version or, asking for
// the checksum, for leave to go without. The relay passes its requests on as
// they are, ends them with ctx, and keeps the first failure.
type relay struct {
	fetch    *fetch
	ctx      context.Context
	cancel   context.CancelCauseFunc
	client   *http.Client
	server   *http.Server
	listener net.Listener
	prefix   string // a secret: other users of the machine reach the port, too
	stall    *time.Timer
	serving  sync.WaitGroup

	mu      sync.Mutex
	first   string
	failure error
}

func startRelay(ctx context.Context, f *fetch) (*relay, error) {
	listener, err := net.Listen("tcp", loopback+":0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r := &relay{fetch: f, ctx: ctx, cancel: cancel, listener: listener, prefix: "/" + rand.Text(), client: &http.Client{}}
	if transport, ok := http.DefaultTransport.(*http.Transport); ok {
		transport = transport.Clone() // with a pool of its own, which stop empties
		transport.DisableCompression = true
		r.client.Transport = transport
	}
	r.stall = time.AfterFunc(stallLimit, func() { cancel(errStalled) })
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: stallLimit, ErrorLog: log.New(io.Discard, "", 0)}
	r.server.SetKeepAlivesEnabled(false)
	r.serving.Go(func() { _ = r.server.Serve(listener) })
	return r, nil
}

func (r *relay) url() string { return "http://" + r.listener.Addr().String() + r.prefix }

// stop ends what is under way and waits for it; the context's end makes that
// short.
func (r *relay) stop() {
	r.cancel(nil)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // a stranger may hold a connection
	defer cancel()
	_ = r.server.Shutdown(ctx)
	_ = r.server.Close()
	r.serving.Wait()
	r.client.CloseIdleConnections()
	r.stall.Stop()
}

// ServeHTTP passes a request on.
func (r *relay) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	path, ours := strings.CutPrefix(request.URL.Path, r.prefix+"/")
	if !ours || request.Method != http.MethodGet {
		http.NotFound(w, request)
		return
	}
	response, err := r.get(path)
	if err != nil {
		r.fail(err)
		http.Error(w, "", http.StatusBadGateway)
		return
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK && response.ContentLength >= 0 {
		w.Header().Set("Content-Length", fmt.Sprint(response.ContentLength))
	}
	w.WriteHeader(response.StatusCode)
	if _, err := io.Copy(w, r.counted(response.Body)); err != nil {
		r.fail(fmt.Errorf("GET %s: %w", response.Request.URL.Redacted(), err))
		panic(http.ErrAbortHandler) // the library must not take this for the end
	}
}

// get asks the repository; an answer that the library would misread is an
// error.
func (r *relay) get(path string) (*http.Response, error) {
	target := r.fetch.repository.JoinPath(path)
	r.mu.Lock()
	if r.first == "" {
		r.first = target.Redacted()
	}
	r.mu.Unlock()
	request, err := http.NewRequestWithContext(r.ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	r.progress(0)
	response, err := r.client.Do(request)
	if err != nil {
		return nil, err
	}
	noChecksum := response.StatusCode == http.StatusNotFound && strings.HasSuffix(path, ".sha256")
	if noChecksum {
		r.fetch.log.WarnContext(r.ctx, "repository has no checksum for PostgreSQL", "url", target.Redacted())
	}
	if response.StatusCode != http.StatusOK && !noChecksum {
		response.Body.Close()
		return nil, fmt.Errorf("GET %s: %s", target.Redacted(), response.Status)
	}
	return response, nil
}

// fail keeps the first failure. A cancelled request has its cause in the context.
func (r *relay) fail(err error) {
	if cause := context.Cause(r.ctx); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure == nil {
		r.failure = err
	}
}

func (r *relay) firstFailure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

func (r *relay) firstURL() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first
}

// progress counts received bytes and puts the stall limit off.
func (r *relay) progress(n int) {
	r.fetch.received.Add(int64(n))
	r.stall.Reset(stallLimit)
}

func (r *relay) counted(body io.Reader) io.Reader { return &counted{r, body} }

// counted reports what is read.
type counted struct {
	relay *relay
	body  io.Reader
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.body.Read(p)
	c.relay.progress(n)
	return n, err
}
