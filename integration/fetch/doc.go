// Package fetch proves the fetching of PostgreSQL binaries without an outside
// network: against a repository of its own, with a package made from the
// installed binaries.
package fetch
