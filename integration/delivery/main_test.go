//go:build unix

package delivery_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/tidings-go/tidings/integration/delivery/lab"
	"github.com/tidings-go/tidings/integration/delivery/process"
	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
)

func TestMain(m *testing.M) {
	if process.Role() != "" {
		lab.ChildMain()
	}
	goleak.VerifyTestMain(pgtest.Runner{M: m})
}
