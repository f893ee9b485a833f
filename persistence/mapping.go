package persistence

import "github.com/tidings-go/tidings/persistence/mapping"

// Column gives the field of an event at a path another column name, or a list, set
// or map another table name: the way out where the name that follows from the
// path is longer than 63 bytes or taken. A path is Go names joined by dots, with
// [] for an element and [key] for a key: Lines[].Note. See [mapping.Column].
func Column(path, name string) mapping.Option { return mapping.Column(path, name) }
