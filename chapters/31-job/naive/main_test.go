package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/31-job/letters"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemory(t, letters.Story(controllers),
		demotest.Rule{Find: ` in [\d.]+m?s\b`, Put: ""}, // nothing takes time in a bubble
		demotest.Rule{Find: `letters-[a-z0-9]{5}`, Put: "letters-NAME"})
}
