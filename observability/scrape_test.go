package observability_test

import (
	"bytes"
	"io"
	"net/http"
	"os/exec"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// get returns status and body of a GET; its connection is closed with it.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(body)
}

// scraped is one scrape.
type scraped map[string]*dto.MetricFamily

// scrape reads /metrics over HTTP as Prometheus does.
func scrape(t *testing.T, admin string) scraped {
	t.Helper()
	status, text := get(t, admin+"/metrics")
	require.Equal(t, http.StatusOK, status, text)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewBufferString(text))
	require.NoError(t, err)
	return families
}

// value returns the value of one series, a histogram's count; labels are names
// and values in turn. A series that is not there fails the test.
func (s scraped) value(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	v, ok := s.find(name, labels...)
	require.True(t, ok, "%s%v is not there", name, labels)
	return v
}

func (s scraped) find(name string, labels ...string) (float64, bool) {
	for _, m := range s[name].GetMetric() {
		if !has(m, labels) {
			continue
		}
		switch {
		case m.Gauge != nil:
			return m.Gauge.GetValue(), true
		case m.Counter != nil:
			return m.Counter.GetValue(), true
		case m.Histogram != nil:
			return float64(m.Histogram.GetSampleCount()), true
		}
	}
	return 0, false
}

func has(m *dto.Metric, labels []string) bool {
	for i := 0; i < len(labels); i += 2 {
		found := false
		for _, l := range m.Label {
			found = found || l.GetName() == labels[i] && l.GetValue() == labels[i+1]
		}
		if !found {
			return false
		}
	}
	return true
}

// promtool runs it and fails the test where it complains.
func promtool(t *testing.T, stdin string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "promtool", args...)
	c.Stdin = bytes.NewBufferString(stdin)
	out, err := c.CombinedOutput()
	require.NoError(t, err, "promtool %v: %s (`make promtool` installs it)", args, out)
	require.NotContains(t, string(out), "error")
}
