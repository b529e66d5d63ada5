package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/02-store/webpods"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemory(t, webpods.Story(newStore))
}
