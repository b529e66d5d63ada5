package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/04-informer/away"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheNaiveProgramFailsAsTheTextShows(t *testing.T) { demotest.InMemory(t, away.Story(watch)) }
