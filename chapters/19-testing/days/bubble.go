package days

import (
	"os"
	"testing"
	"testing/synctest"
)

// Bubble runs f in a bubble of testing/synctest, where a day takes no time.
type Bubble func(f func())

// InTest returns the Bubble of a test.
func InTest(t *testing.T) Bubble {
	return func(f func()) { synctest.Test(t, func(*testing.T) { f() }) }
}

// Main runs a program that needs bubbles, and ends the process. There's a bubble only in a test, so the
// program becomes one.
func Main(program func(Bubble)) {
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "main", F: func(t *testing.T) {
		program(InTest(t))
		os.Exit(0) // or it would print PASS
	}}}, nil, nil)
}
