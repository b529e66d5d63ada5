package originals

import (
	"testing"

	"github.com/loopwright/loopwright/internal/simulation/stories"
)

func TestReplicaSet(t *testing.T)       { stories.ReplicaSet(process(startReplicaSets)).Test(t) }
func TestDeployment(t *testing.T)       { stories.Deployment(process(startDeployments)).Test(t) }
func TestEndpoints(t *testing.T)        { stories.Endpoints(process(startEndpoints)).Test(t) }
func TestEndpointSlices(t *testing.T)   { stories.EndpointSlices(process(startSlices)).Test(t) }
func TestGarbageCollector(t *testing.T) { stories.GarbageCollector(process(startGarbage)).Test(t) }
