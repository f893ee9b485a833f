package observability_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheAlertsFireWhereTheyShallAndNowhereElse(t *testing.T) {
	t.Parallel()
	promtool(t, "", "check", "rules", "prometheus/alerts.yml")
	c := exec.CommandContext(t.Context(), "promtool", "test", "rules", "alerts_test.yml")
	c.Dir = "prometheus"
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	rules, err := os.ReadFile("prometheus/alerts.yml")
	require.NoError(t, err)
	tests, err := os.ReadFile("prometheus/alerts_test.yml")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(rules), -1) {
		require.Contains(t, string(tests), m[1]+" fires", "each alert is shown to fire")
		require.Contains(t, string(tests), m[1]+" is silent", "and not to")
	}
}

var metricName = regexp.MustCompile(`tidings_[a-z_]+`)

// TestDashboardAndAlertsNameMetricsThatExist compares them with a scrape.
func TestDashboardAndAlertsNameMetricsThatExist(t *testing.T) {
	t.Parallel()
	_, admin := serve(t, shop(nil))
	s := scrape(t, admin)
	for _, file := range []string{"grafana/tidings.json", "prometheus/alerts.yml", "../docs/operations.md", "../docs/configuration.md"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		names := metricName.FindAllString(string(text), -1)
		require.NotEmpty(t, names, file)
		for _, name := range names {
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				name = strings.TrimSuffix(name, suffix)
			}
			require.Contains(t, s, name, file)
		}
	}
	for name := range s {
		if strings.HasPrefix(name, "tidings_") {
			text, err := os.ReadFile("../docs/configuration.md")
			require.NoError(t, err)
			require.Contains(t, string(text), "`"+name, "each metric is documented")
		}
	}
}

func TestTheDashboardHasQueriesThatPrometheusUnderstands(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("grafana/tidings.json")
	require.NoError(t, err)
	var dashboard struct {
		UID    string
		Panels []struct {
			Title, Type, Description string
			Targets                  []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	require.Equal(t, "tidings", dashboard.UID)
	rules := strings.Builder{}
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	queries := 0
	for _, p := range dashboard.Panels {
		if p.Type == "row" {
			continue
		}
		require.NotEmpty(t, p.Description, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			expr := strings.NewReplacer("$__rate_interval", "5m", "$listener", ".*").Replace(target.Expr)
			quoted, err := json.Marshal(expr)
			require.NoError(t, err)
			fmt.Fprintf(&rules, "  - record: dashboard:query:%d\n    expr: %s\n", queries, quoted)
			queries++
		}
	}
	require.Greater(t, queries, 15)
	file := filepath.Join(t.TempDir(), "rules.yml")
	require.NoError(t, os.WriteFile(file, []byte(rules.String()), 0o600))
	promtool(t, "", "check", "rules", file)
}
