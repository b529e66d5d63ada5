package replicaset

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/simulation/ours"
	"github.com/loopwright/loopwright/internal/simulation/stories"
)

// A ReplicaSet has the right Pods, whatever has gone wrong on the way: requests, watches, and the process
// itself.
func TestWhateverBreaksThePodsAreRight(t *testing.T) {
	stories.ReplicaSet(ours.Process(Add)).Test(t)
}

// A user who scales down to one Pod would have none for a while.
func TestLostAnswersMakeNoPodTooManyAndDeleteNoneThatIsNeeded(t *testing.T) {
	for _, scene := range stories.ScenesOfReplicaSets() {
		t.Run(scene.Name, func(t *testing.T) {
			require.Empty(t, scene.Play(t, ours.Process(Add)))
		})
	}
}
