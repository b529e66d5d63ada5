// Package broken has a test that fails, whatever mutant is active.
package broken

// One is one.
func One() int { return 1 }
