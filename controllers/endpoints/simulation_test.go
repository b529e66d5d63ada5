package endpoints

import (
	"testing"

	"github.com/loopwright/loopwright/internal/simulation/stories"
)

// Clients of a Service find its Pods, whatever has gone wrong: requests, watches, and the process itself.
func TestWhateverBreaksTheEndpointsAreRight(t *testing.T) { stories.Endpoints(Add).Test(t) }

func TestWhateverBreaksTheSlicesAreRight(t *testing.T) {
	stories.EndpointSlices(SliceSettings{MaxPerSlice: stories.MostPerSlice}.Add).Test(t)
}
