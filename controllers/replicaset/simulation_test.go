package replicaset

import (
	"testing"

	"github.com/loopwright/loopwright/internal/simulation/ours"
	"github.com/loopwright/loopwright/internal/simulation/stories"
)

// A ReplicaSet has the right Pods, whatever has gone wrong on the way: requests, watches, and the process
// itself.
func TestWhateverBreaksThePodsAreRight(t *testing.T) {
	stories.ReplicaSet(ours.Process(Add)).Test(t)
}
