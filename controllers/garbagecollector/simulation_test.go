package garbagecollector

import (
	"testing"
	"time"

	"github.com/loopwright/loopwright/internal/simulation/ours"
	"github.com/loopwright/loopwright/internal/simulation/stories"
)

// No object with a living owner is deleted, and no garbage is left, whatever goes wrong: requests,
// watches, discovery, and the process itself.
func TestWhateverBreaksNothingWithALivingOwnerIsDeletedAndNoGarbageIsLeft(t *testing.T) {
	settings := Settings{DiscoveryPeriod: 10 * time.Minute}
	stories.GarbageCollector(ours.Process(settings.Add)).Test(t)
}
