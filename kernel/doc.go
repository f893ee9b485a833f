// Package kernel assembles an app: one fx module that checks its declarations,
// connects its handles, and starts and stops it in order.
//
//	func main() { kernel.Main(Module) }
//
// gives a whole program with commands; an existing fx app joins with
//
//	fx.New(kernel.Options(kernel.Database(db)), Module)
//
// One kernel has one database. Everything wrong with the declarations is
// reported together, before anything starts, with the app's file and line.
package kernel
