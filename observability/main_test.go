package observability_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Runner{M: m}) }
