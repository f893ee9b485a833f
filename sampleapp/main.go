// Sampleapp is a delivery company on the Tidings kernel: tours, stops, a board,
// mails to customers and invoices.
//
//	go run ./sampleapp demo         plays a day, with failures, and checks the books
//	go run ./sampleapp serve --dev  runs its HTTP API on an embedded PostgreSQL
//
// Package domain holds the rules, app the usecases, events and listeners,
// adapters the ways to PostgreSQL and the mail server, ports the ways in.
package main

import (
	"github.com/tidings-go/tidings/kernel"
	"github.com/tidings-go/tidings/sampleapp/adapters"
	"github.com/tidings-go/tidings/sampleapp/app"
	"github.com/tidings-go/tidings/sampleapp/demo"
	"github.com/tidings-go/tidings/sampleapp/ports"
)

func main() {
	kernel.Main(app.Module, app.Office, adapters.Module, ports.Module, demo.Command(), demo.WorkerCommand())
}
