package kernel_test

import (
	"os"
	"testing"

	"github.com/tidings-go/tidings/persistence/pgserver/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
