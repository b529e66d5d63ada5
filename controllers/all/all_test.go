package all

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestANameThatIsNoControllersIsRefusedBeforeAnythingIsAdded(t *testing.T) {
	assert.NoError(t, Check(Names()...))
	assert.NoError(t, Check("replicaset", "replicaset"))
	assert.EqualError(t, Check("replicaset", "job"),
		`there is no controller "job": there are deployment, replicaset, endpoints, endpointslice, `+
			`garbagecollector`)
	assert.EqualError(t, Check(),
		"no controller is chosen: there are deployment, replicaset, endpoints, endpointslice, "+
			"garbagecollector")
}

// Clusters run the originals of the optional controllers by default.
func TestWhatIsOptionalIsNotAmongTheDefaults(t *testing.T) {
	assert.Equal(t, []string{"deployment", "replicaset", "endpoints"}, Default())
	assert.NoError(t, Check(Default()...))
	assert.NoError(t, Check("endpointslice", GarbageCollector))
}
