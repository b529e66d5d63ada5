package main

import (
	"testing"

	"github.com/loopwright/loopwright/internal/demo/demotest"
	"github.com/loopwright/loopwright/chapters/04-informer/away"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) { demotest.InMemory(t, away.Story(watch)) }
