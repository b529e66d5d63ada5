package main

import (
	"testing"

	"github.com/loopwright/loopwright/internal/demo/demotest"
)

// A real cluster puts one more ConfigMap into each namespace.
func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemory(t, follow, demotest.Rule{Find: `\d items at resourceVersion \d+( in \S+)?`, Put: "The items"})
}
