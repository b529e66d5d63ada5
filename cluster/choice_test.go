package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAChoiceOfPartsThatCannotWorkIsRefused(t *testing.T) {
	for says, parts := range map[string][]Part{
		`no part "scheduler"`: {Etcd, APIServer, "scheduler"},
		"without etcd":        {APIServer, Scheduler},
		"kube-apiserver":      {},
	} {
		_, err := Up(t.Context(), Options{Dir: t.TempDir(), Parts: parts})
		assert.ErrorContains(t, err, says)
	}
	assert.NoError(t, checkParts(nil))
	assert.NoError(t, checkParts([]Part{Etcd, APIServer, Kwok}))
}

func TestOnlyWithoutAControllerManagerPodsNeedNoServiceAccount(t *testing.T) {
	const off = "--disable-admission-plugins=ServiceAccount"
	at := place{dir: "/d"}
	assert.NotContains(t, arguments(APIServer, at, state{}), off)
	assert.NotContains(t, arguments(APIServer, at, state{Parts: Parts}), off)
	assert.Contains(t, arguments(APIServer, at, state{Parts: []Part{Etcd, APIServer}}), off)
}

func TestAnotherClusterThanAnEmbeddedOneIsLeftAlone(t *testing.T) {
	other := &Cluster{Mode: Current}
	_, err := other.UserConfig("ann", nil)
	require.ErrorIs(t, err, ErrOutOfReach)
	require.ErrorIs(t, other.StopPart(t.Context(), APIServer), ErrOutOfReach)
	require.ErrorIs(t, other.StartPart(t.Context(), APIServer), ErrOutOfReach)
	require.ErrorIs(t, other.Down(t.Context()), ErrOutOfReach)
	assert.Empty(t, other.EtcdURL())
}
