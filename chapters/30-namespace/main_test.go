package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/30-namespace/tenant"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	took := demotest.Rule{Find: ` in [\d.]+m?s\b`, Put: ""} // nothing takes time in a bubble
	demotest.InMemoryWithoutNamespaceController(t, tenant.Story(prepare), took)
}
