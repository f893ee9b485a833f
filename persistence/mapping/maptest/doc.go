// Package maptest proves the value mapping against a real PostgreSQL: [Run] is
// the suite that every driver must pass. It generates types as well as values,
// stores and loads them under several session time zones, and compares with an
// oracle of its own. It is for tests of this repository and of other drivers.
package maptest
