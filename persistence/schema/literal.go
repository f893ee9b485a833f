package schema

// Literal returns a string constant of SQL, safe under either setting of
// standard_conforming_strings. It is for the expressions of a model; values of
// statements travel as parameters.
func Literal(s string) string { return literal(s) }
