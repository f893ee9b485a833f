package pgserver

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// RunningURL returns the URL of a database on the server that another process
// runs on the data folder dir, as the server's own file in it says. It does not
// look whether the server answers.
func RunningURL(dir, database string) (string, error) {
	content, err := os.ReadFile(filepath.Join(dir, pidName))
	if err != nil {
		return "", fmt.Errorf("find the running server: %w", err)
	}
	// Process, data folder, start time, port, socket folder, TCP address, …
	lines := strings.Split(string(content), "\n")
	if len(lines) < 6 {
		return "", errors.New("find the running server: it is still starting")
	}
	port, socket, tcp := strings.TrimSpace(lines[3]), strings.TrimSpace(lines[4]), strings.TrimSpace(lines[5])
	u := url.URL{Scheme: "postgres", User: url.User("postgres"), Path: "/" + database}
	q := url.Values{"sslmode": {"disable"}, "timezone": {"UTC"}}
	switch {
	case socket != "":
		q.Set("host", socket)
		q.Set("port", port)
	case tcp != "":
		u.Host = loopback + ":" + port
	default:
		return "", errors.New("find the running server: it listens nowhere")
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}
