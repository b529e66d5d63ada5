package endpoints

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/simulation/ours"
	"github.com/loopwright/loopwright/internal/simulation/stories"
)

// Clients of a Service find its Pods, whatever has gone wrong: requests, watches, and the process itself.
func TestWhateverBreaksTheEndpointsAreRight(t *testing.T) {
	stories.Endpoints(ours.Process(Add)).Test(t)
}

func TestWhateverBreaksTheSlicesAreRight(t *testing.T) {
	settings := SliceSettings{MaxPerSlice: stories.MostPerSlice}
	stories.EndpointSlices(ours.Process(settings.Add)).Test(t)
}

// Clients would go to an address at which nobody serves.
func TestEndpointsForgetPodsThatEndAndWhatUsersWrite(t *testing.T) {
	for _, scene := range stories.ScenesOfEndpoints() {
		t.Run(scene.Name, func(t *testing.T) {
			require.Empty(t, scene.Play(t, ours.Process(Add)))
		})
	}
}

// Clients wouldn't find new Pods once a user has taken a slice over.
func TestSlicesForgetPodsThatEndAndGoOnWithoutOneThatAUserTook(t *testing.T) {
	for _, scene := range stories.ScenesOfSlices() {
		t.Run(scene.Name, func(t *testing.T) {
			require.Empty(t, scene.Play(t, ours.Process(AddSlices)))
		})
	}
}
