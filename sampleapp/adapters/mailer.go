package adapters

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"github.com/tidings-go/tidings/sampleapp/app"
)

// MailURLVariable is the environment variable with the URL of the mail server.
const MailURLVariable = "SAMPLE_MAIL_URL"

// NewMailer returns a mailer on the server that SAMPLE_MAIL_URL names, or else
// one that only logs.
func NewMailer() app.Mailer {
	if url := os.Getenv(MailURLVariable); url != "" {
		return httpMailer{url: url}
	}
	return logMailer{}
}

// httpMailer posts mails to a mail server. It sets no time-out: the time limit of
// the listener is the deadline of its context.
type httpMailer struct{ url string }

func (m httpMailer) Send(ctx context.Context, mail app.Mail) error {
	body, err := json.Marshal(mail)
	if err != nil {
		return fmt.Errorf("send mail: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("send mail: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", mail.Key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("send mail: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("send mail: the mail server says %s", response.Status)
	}
	return nil
}

// logMailer stands in where there is no mail server.
type logMailer struct{}

func (logMailer) Send(ctx context.Context, mail app.Mail) error {
	slog.InfoContext(ctx, "mail not sent: "+MailURLVariable+" is not set", slog.String("key", mail.Key))
	return nil
}
