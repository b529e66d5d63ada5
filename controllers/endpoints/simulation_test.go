package endpoints

import (
	"testing"

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
