package boot

import (
	"net/url"
	"strconv"
	"strings"
)

// Sources of a setting, the first that gives it wins.
const (
	SourceFlag        = "flag"
	SourceEnvironment = "environment"
	SourceCode        = "code"
	SourceDefault     = "default"
)

// Setting is one effective setting.
type Setting struct {
	Variable string `json:"variable"`
	Flag     string `json:"flag,omitempty"`
	Value    string `json:"value"` // without secrets
	Source   string `json:"source"`
}

// known are all settings, in the order of docs/configuration.md.
var known = []struct {
	variable, flag string
	value          func(Config) string
}{
	{"DATABASE_URL", "", func(c Config) string { return hideSecrets(c.DatabaseURL) }},
	{"TIDINGS_LISTEN_URL", "", func(c Config) string { return hideSecrets(c.ListenURL) }},
	{"TIDINGS_PGBOUNCER", "", func(c Config) string { return strconv.FormatBool(c.PgBouncer) }},
	{"TIDINGS_DEV", "dev", func(c Config) string { return strconv.FormatBool(c.Dev) }},
	{"TIDINGS_DEV_DIR", "dev-dir", func(c Config) string { return c.DevDir }},
	{"TIDINGS_ADMIN_ADDR", "admin-addr", func(c Config) string { return c.AdminAddr }},
	{"TIDINGS_POOL_SIZE", "", func(c Config) string { return strconv.Itoa(c.PoolSize) }},
	{"TIDINGS_WORKERS", "workers", func(c Config) string { return strconv.Itoa(c.Delivery.Workers) }},
	{"TIDINGS_BATCH", "", func(c Config) string { return strconv.Itoa(c.Delivery.Batch) }},
	{"TIDINGS_POLL", "", func(c Config) string { return c.Delivery.Poll.String() }},
	{"TIDINGS_LEASE", "", func(c Config) string { return c.Delivery.Lease.String() }},
	{"TIDINGS_MARGIN", "", func(c Config) string { return c.Delivery.Margin.String() }},
	{"TIDINGS_GRACE", "", func(c Config) string { return c.Delivery.Grace.String() }},
	{"TIDINGS_HEARTBEAT", "", func(c Config) string { return c.Delivery.Heartbeat.String() }},
	{"TIDINGS_MAINTENANCE", "", func(c Config) string { return c.Delivery.Maintenance.String() }},
	{"TIDINGS_NODE", "", func(c Config) string { return c.Delivery.NodeName }},
}

// Settings returns the effective settings and where each comes from: code is what
// the program said, c the result, lookup the environment, and flag whether a flag
// was given.
func (c Config) Settings(code Config, lookup func(string) (string, bool), flag func(string) bool) []Setting {
	all := make([]Setting, 0, len(known))
	env := environment{lookup: lookup}
	for _, k := range known {
		s := Setting{Variable: k.variable, Flag: k.flag, Value: k.value(c), Source: SourceDefault}
		_, set := env.value(k.variable)
		switch {
		case k.flag != "" && flag(k.flag):
			s.Source = SourceFlag
		case set:
			s.Source = SourceEnvironment
		case k.value(code) != k.value(Config{}):
			s.Source = SourceCode
		}
		all = append(all, s)
	}
	return all
}

// secretParameters of a database URL hold secrets.
var secretParameters = []string{"password", "sslpassword"}

// hideSecrets returns a database URL without its passwords. Of what is no URL it
// returns nothing: any part of it may be one.
func hideSecrets(text string) string {
	if text == "" || text == Off {
		return text
	}
	u, err := url.Parse(text)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") || u.Opaque != "" {
		return "(hidden: not a postgres:// URL)"
	}
	q := u.Query()
	for _, name := range secretParameters {
		if q.Has(name) {
			q.Set(name, "xxxxx")
		}
	}
	u.RawQuery = q.Encode()
	return u.Redacted()
}
