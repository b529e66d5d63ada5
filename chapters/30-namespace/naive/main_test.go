package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/30-namespace/tenant"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemoryWithoutNamespaceController(t, tenant.Story(prepare))
}
