package envtest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/cluster"
)

func TestAFlagBecomesWhatWasAskedOfIt(t *testing.T) {
	defaults := map[string][]string{"a": {"1", "2"}, "b": {"3"}}
	for _, c := range []struct {
		want  string
		flags *Arguments
	}{
		{"--a=1 --a=2 --b=3", EmptyArguments()},
		{"--a=1 --a=2 --a=4 --b=3", EmptyArguments().Append("a", "4")},
		{"--a=1 --a=2 --a=4 --a=5 --b=3", EmptyArguments().Append("a", "4").Append("a", "5")},
		{"--a=4 --b=3", EmptyArguments().AppendNoDefaults("a", "4")},
		{"--a=4 --a=5 --b=3", EmptyArguments().Set("a", "4").Append("a", "5")},
		{"--a=6 --b=3", EmptyArguments().Append("a", "4").Set("a", "6")},
		{"--a --b=3", EmptyArguments().Enable("a").Append("a", "4")},
		{"--b=3", EmptyArguments().Disable("a")},
		{"--a=4 --b=3", EmptyArguments().Disable("a").Append("a", "4")},
		{"--a=1 --a=2 --b=3 --c=7 --c=8", EmptyArguments().Append("c", "7", "8")},
		{"--a=1 --a=2 --b=3 --d", EmptyArguments().Enable("d")},
		{"--a=9 --b=3", EmptyArguments().SetRaw("a", chosen{"9"})},
	} {
		assert.Equal(t, c.want, strings.Join(c.flags.AsStrings(defaults), " "))
	}
	assert.Nil(t, (&Arguments{}).Disable("a").Get("a").Get([]string{"1"}), "the zero value is ready for use")
}

func TestAnAppendLeavesWhatWasThereBeforeAlone(t *testing.T) {
	before := chosen(append(make([]string, 0, 4), "1"))
	first, second := before.Append("2"), before.Append("3")
	assert.Equal(t, []string{"1", "2"}, first.Get(nil))
	assert.Equal(t, []string{"1", "3"}, second.Get(nil))
}

func TestAFlagThatTheCompiledEtcdLacksIsRefused(t *testing.T) {
	plane := &ControlPlane{}
	plane.getEtcd().Configure().Set("quota-backend-bytes", "1")
	_, err := plane.arguments(cluster.Etcd, []string{"--data-dir=/d"})
	assert.ErrorContains(t, err, "has no flag --quota-backend-bytes")
}

func TestTwoCAsOfClientsBecomeOneFile(t *testing.T) {
	dir := t.TempDir()
	own, theirs := dir+"/own", dir+"/theirs"
	write(t, own, "own")
	write(t, theirs, "theirs")
	plane := &ControlPlane{dir: dir}
	plane.GetAPIServer().Configure().Set(clientCA, theirs)
	line, err := plane.arguments(cluster.APIServer, []string{"--" + clientCA + "=" + own, "--a=1"})
	require.NoError(t, err)
	assert.Equal(t, "--"+clientCA+"="+dir+"/client-ca.crt", line[len(line)-1])
	assert.Equal(t, "own\ntheirs\n", read(t, dir+"/client-ca.crt"), "either we or the users are locked out")

	plane.GetAPIServer().Configure().Set(clientCA, dir+"/none")
	_, err = plane.arguments(cluster.APIServer, []string{"--" + clientCA + "=" + own})
	assert.ErrorContains(t, err, "reading the CA of clients")
}
