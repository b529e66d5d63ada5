package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/32-cronjob/nights"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemory(t, nights.Story(controller),
		demotest.Rule{Find: ` in [\d.]+m?s\b`, Put: ""}, // nothing takes time in a bubble
		demotest.Rule{Find: `(backup|report)-[a-z0-9]{5}`, Put: "$1-NAME"})
}
