package ports

import (
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/kernel"
)

// Module serves the API while the app runs.
var Module = kernel.Module("example.ports", fx.Provide(NewServer), fx.Invoke(func(*Server) {}))
