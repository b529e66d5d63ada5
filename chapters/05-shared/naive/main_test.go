package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/05-shared/slow"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) {
	demotest.InMemory(t, slow.Story(withHandlers))
}
