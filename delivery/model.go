package delivery

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/tidings-go/tidings/events"
)

// fingerprint tells one model from another: nodes with the same one rebuild
// stored events by the same rules. The tables of the events are a part of it, and
// so is the program itself, since a rule may be code that no table shows.
func fingerprint(bus *events.Bus) (string, error) {
	program, err := programSum()
	if err != nil {
		return "", fmt.Errorf("fingerprint of the model: %w", err)
	}
	h := sha256.New()
	fmt.Fprintln(h, program)
	for _, table := range bus.Tables() {
		fmt.Fprintf(h, "%q\n", fmt.Sprint(table))
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// programSum is the checksum of the running program's file, read once.
var programSum = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
})
