package deployment

import (
	"testing"

	"github.com/loopwright/loopwright/internal/simulation/ours"
	"github.com/loopwright/loopwright/internal/simulation/stories"
)

// A rollout ends, and keeps within its limits on the way, whatever goes wrong: requests, watches, and the
// process itself.
func TestWhateverBreaksTheRolloutEnds(t *testing.T) {
	stories.Deployment(ours.Process(bothControllers)).Test(t)
}
