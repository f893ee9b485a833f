// Package integration holds black-box tests.
package integration
