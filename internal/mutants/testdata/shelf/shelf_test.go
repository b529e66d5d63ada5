package shelf

import (
	"flag"
	"testing"
)

var seeds = flag.Uint64("simulation.seeds", 0, "as in a package with a simulation")

func TestWhatWasPutComesBack(t *testing.T) {
	var s Shelf
	s.Put("cup")
	if got := s.Last(); got != "cup" {
		t.Errorf("got %q", got)
	}
}

func TestAShelfCountsItsThings(t *testing.T) {
	var s Shelf
	s.Put("cup")
	if got := s.Count(); got != 1 {
		t.Errorf("got %d", got)
	}
}

func TestASimulationIsPlayedWithFewSeeds(t *testing.T) {
	if *seeds != 3 {
		t.Errorf("%d seeds, for each mutant that survives", *seeds)
	}
}
