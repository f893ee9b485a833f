// Package nodes holds black-box tests of several nodes on one database: how they
// wake each other, what they may claim, how old and new ones live side by side,
// and what a paused, cut off or starved one does to the others.
package nodes
