//go:build unix

// Command node is a process of the app under fire, for tests that build it with
// a clock of its own.
package main

import "github.com/tidings-go/tidings/integration/faults/app"

func main() { app.Main() }
