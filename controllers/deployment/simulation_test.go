package deployment

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/simulation/ours"
	"github.com/loopwright/loopwright/internal/simulation/stories"
)

// A rollout ends, and keeps within its limits on the way, whatever goes wrong: requests, watches, and the
// process itself.
func TestWhateverBreaksTheRolloutEnds(t *testing.T) {
	stories.Deployment(ours.Process(bothControllers)).Test(t)
}

// A user who mends a rollout in one step would wait for it forever.
func TestARolloutThatWasStuckGoesOnWithAnotherStrategyAndSize(t *testing.T) {
	for _, scene := range stories.ScenesOfDeployments() {
		t.Run(scene.Name, func(t *testing.T) {
			require.Empty(t, scene.Play(t, ours.Process(bothControllers)))
		})
	}
}
