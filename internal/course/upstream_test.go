package course

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// A module that the benchmarks happen to pull in must not change which version a chapter talks about.
func TestTheVersionOfAnOriginalIsThatOfWhoRequiresItDirectly(t *testing.T) {
	mods := map[string]goMod{}
	for name, text := range map[string]string{
		"go.mod": `{"Require": [{"Path": "a", "Version": "v1", "Indirect": true}]}`,
		"cluster/controlplane/go.mod": `{"Require": [{"Path": "b", "Version": "v2", "Indirect": true}, {"Path": "c", "Version": "v0"}],
			"Replace": [{"Old": {"Path": "c"}, "New": {"Path": "c", "Version": "v3"}}]}`,
		"benchmarks/go.mod": `{"Require": [{"Path": "a", "Version": "v4"}, {"Path": "b", "Version": "v5", "Indirect": true}]}`,
	} {
		var mod goMod
		require.NoError(t, json.Unmarshal([]byte(text), &mod))
		mods[name] = mod
	}
	for module, want := range map[string][2]string{
		"a": {"v4", "benchmarks/go.mod"}, "b": {"v2", "cluster/controlplane/go.mod"}, "c": {"v3", "cluster/controlplane/go.mod"}, "d": {},
	} {
		version, where := pinned(mods, module)
		require.Equal(t, want, [2]string{version, where}, module)
	}
}
