// Package catalogue shows what a program declares: its usecases, services,
// events and listeners, where they and their functions are written, and who
// calls, emits and listens to what. It draws the flow usecase → event → listener
// from the declared dependencies, so that control flow which listeners hide can
// be seen.
package catalogue
