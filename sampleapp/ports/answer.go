package ports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/tidings-go/tidings/sampleapp/domain"
)

// maxBody is how many bytes of a body are read: a full van takes a few KiB.
const maxBody = 1 << 20

// errMalformed is a body that is not the JSON it should be.
var errMalformed = errors.New("malformed body")

// answer makes a handler of a function that returns status and body, or an error.
func answer(f func(*http.Request) (int, any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		status, body, err := f(r)
		if err != nil {
			status, body = refuse(r, err)
		}
		if body == nil {
			w.WriteHeader(status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(body); err != nil {
			slog.WarnContext(r.Context(), "answer not sent", slog.Any("error", err))
		}
	}
}

// refuse turns an error into an answer. The domain's own errors are meant for
// who asks; all others stay in the log.
func refuse(r *http.Request, err error) (int, problem) {
	var rule *domain.Error
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge, problem{"the body is too large"}
	case errors.Is(err, errMalformed):
		return http.StatusBadRequest, problem{err.Error()}
	case errors.As(err, &rule):
		return statusOf(rule.Kind), problem{rule.Error()}
	}
	slog.ErrorContext(r.Context(), "request failed", slog.String("path", r.URL.Path), slog.Any("error", err))
	return http.StatusInternalServerError, problem{"internal error"}
}

func statusOf(kind domain.Kind) int {
	switch kind {
	case domain.Missing:
		return http.StatusNotFound
	case domain.Conflict:
		return http.StatusConflict
	default:
		return http.StatusUnprocessableEntity
	}
}

// read reads the one JSON value of a body.
func read(r *http.Request, into any) error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: more than one value", errMalformed)
	}
	return nil
}
