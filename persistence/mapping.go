package persistence

import "github.com/tidings-go/tidings/persistence/mapping"

// Column gives the field of an event at a path (Go names joined by dots) another
// column name: the way out where the name that follows from the path is longer
// than 63 bytes or taken. See [mapping.Column].
func Column(path, name string) mapping.Option { return mapping.Column(path, name) }
