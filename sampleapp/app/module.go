package app

import (
	"time"

	"github.com/tidings-go/tidings/events"
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/usecase"
)

// Module declares the delivery company. The names are what stored events and
// jobs are known by: Go's names may change, these do not.
var Module = kernel.Module(
	"example.delivery",

	events.Declare[TourPlanned]("example.delivery.TourPlanned", events.Recorded()),
	events.Declare[StopMoved]("example.delivery.StopMoved"),
	events.Declare[StopCompleted]("example.delivery.StopCompleted"),
	events.Declare[DayClosed]("example.delivery.DayClosed"),

	usecase.Declare("example.delivery.PlanTour", planTour, usecase.Validate(PlanTour.check)),
	usecase.Declare("example.delivery.MoveStop", moveStop, usecase.Validate(MoveStop.check)),
	usecase.Declare("example.delivery.SwapStops", swapStops, usecase.Validate(SwapStops.check)),
	usecase.Declare("example.delivery.CompleteStop", completeStop),
	usecase.Declare("example.delivery.CreateInvoice", createInvoice),
	usecase.Declare("example.delivery.ShowBoard", showBoard, usecase.ReadOnly()),
	usecase.DeclareAction("example.delivery.CloseDay", closeDay, usecase.Validate(CloseDay.check)),
	usecase.DeclareService("example.delivery.PriceMove", priceMove),

	// In the publisher's transaction: the board is never behind.
	events.Sync("example.delivery.OpenOnBoard", openOnBoard),
	events.Sync("example.delivery.MoveOnBoard", moveOnBoard),
	events.Sync("example.delivery.CompleteOnBoard", completeOnBoard),

	// After its commit: what may take long, or fail.
	events.Deferred(
		"example.delivery.NotifyCustomer", notifyCustomer,
		events.MaxAttempts(4), events.Backoff(200*time.Millisecond, time.Minute), events.TimeLimit(3*time.Second),
	),
	events.Deferred("example.delivery.InvoiceStop", invoiceStop, events.TimeLimit(5*time.Second)),
)

// Office declares what the office does. It is a module of its own because not
// every process has it: the vans' nodes run without.
var Office = kernel.Module(
	"example.office",
	events.Deferred("example.office.ReportDay", reportDay),
)
