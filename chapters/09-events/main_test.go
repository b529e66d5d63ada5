package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, example.InMemory, story, demotest.Rule{
		Find: `shop-[a-z0-9]{5}`, Put: "shop-NAME",
	})
}
