package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/32-cronjob/nights"
	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/mini"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemory(t, nights.Story(mini.NewCronJobController),
		demotest.Rule{Find: ` in [\d.]+m?s\b`, Put: ""}, // nothing takes time in a bubble
		demotest.Rule{Find: `(backup|report)-\d+`, Put: "$1-MINUTE"})
}
