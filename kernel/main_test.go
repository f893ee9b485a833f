package kernel_test

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
)

// TestMain has the tests depend on no variable of the machine, and admin
// endpoints take free ports.
func TestMain(m *testing.M) {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); name == "DATABASE_URL" || strings.HasPrefix(name, "TIDINGS_") && name != "TIDINGS_PG_TMP" {
			_ = os.Unsetenv(name)
		}
	}
	_ = os.Setenv("TIDINGS_ADMIN_ADDR", "127.0.0.1:0")
	goleak.VerifyTestMain(pgtest.Runner{M: m})
}
