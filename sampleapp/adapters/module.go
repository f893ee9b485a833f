package adapters

import (
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/kernel"
)

// Module provides what package app needs, and its tables to a development or
// test database.
var Module = kernel.Module(
	"example.adapters",
	fx.Provide(NewTours, NewBoard, NewInvoices, NewNotifications, NewReports, NewMailer),
	kernel.DevSchema(Schema...),
)
