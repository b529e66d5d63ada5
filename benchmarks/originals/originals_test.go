package originals

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/internal/simulation/stories"
)

// These play seeds for `make simulate ORIGINALS=1`; see internal/simulation/cmd/simulate. As ordinary
// tests they'd fail: that's what the table in docs/bad-days.md is about.

func TestReplicaSet(t *testing.T)     { playSeeds(t, stories.ReplicaSet(process(startReplicaSets))) }
func TestDeployment(t *testing.T)     { playSeeds(t, stories.Deployment(process(startDeployments))) }
func TestEndpoints(t *testing.T)      { playSeeds(t, stories.Endpoints(process(startEndpoints))) }
func TestEndpointSlices(t *testing.T) { playSeeds(t, stories.EndpointSlices(process(startSlices))) }
func TestGarbageCollector(t *testing.T) {
	playSeeds(t, stories.GarbageCollector(process(startGarbage)))
}

func playSeeds(t *testing.T, story simulation.Story) {
	if !simulation.IsWorker() {
		t.Skip("make simulate ORIGINALS=1 plays it")
	}
	story.Test(t)
}

// docs/bad-days.md tells these stories of Kubernetes' controllers. If one of them isn't so, with these
// versions, the page says something wrong about them.
func TestTheStoriesOnThePageAreSo(t *testing.T) {
	for _, of := range []struct {
		controllers controllers
		scenes      []stories.Scene
		broken      []simulation.Promise // by scene
	}{
		{startReplicaSets, stories.ScenesOfReplicaSets(), []simulation.Promise{
			simulation.NeverMore, simulation.NeverFewer}},
		{startDeployments, stories.ScenesOfDeployments(), []simulation.Promise{simulation.ActedOn}},
		{startEndpoints, stories.ScenesOfEndpoints(), []simulation.Promise{
			simulation.ActedOn, simulation.Mended}},
		{startSlices, stories.ScenesOfSlices(), []simulation.Promise{
			simulation.ActedOn, simulation.ActedOn}},
	} {
		for i, scene := range of.scenes {
			t.Run(scene.Name, func(t *testing.T) {
				broken := scene.Play(t, process(of.controllers))
				// Chance plays a part: among Pods that are alike, the ReplicaSet controller deletes any.
				for tries := 1; len(broken) == 0 && tries < 20; tries++ {
					broken = scene.Play(t, process(of.controllers))
				}
				for _, b := range broken {
					t.Log(b)
				}
				require.NotEmpty(t, broken)
				require.Equal(t, of.broken[i], broken[0].Promise)
			})
		}
	}
}
