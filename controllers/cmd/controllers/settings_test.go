package main

import (
	"bytes"
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/controller"
)

func TestWithoutFlagsAllControllersRunBehindALease(t *testing.T) {
	s, err := parse(nil, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, []string{"deployment", "replicaset", "endpoints"}, s.controllers)
	assert.Equal(t, "loopwright-system/loopwright-controllers", s.lease())
	assert.Equal(t, "loopwright-system", s.options.Probe.Namespace)
	assert.False(t, s.options.Probe.Skip)
	assert.True(t, s.makesNamespace(), "a new cluster has no such namespace")
	assert.True(t, s.manager.LeaderElectionReleaseOnCancel, "another replica would have to wait")
	assert.IsType(t, &slog.TextHandler{}, s.handler(io.Discard))
	assert.True(t, s.manager.Recorder.On(), "the debug page has nothing to show")
	for _, address := range []string{s.manager.Metrics.BindAddress,
		s.manager.HealthProbeBindAddress, s.manager.PprofBindAddress} {
		assert.Contains(t, address, "127.0.0.1:",
			"strangers are not let in unless somebody says so")
	}
}

// The manifest's Role is for the Pod's own namespace only.
func TestInAPodLeaseAndProbesAreInItsNamespace(t *testing.T) {
	before := namespaceFile
	t.Cleanup(func() { namespaceFile = before })
	namespaceFile = filepath.Join(t.TempDir(), "namespace")
	require.NoError(t, os.WriteFile(namespaceFile, []byte("loopwright\n"), 0o600))
	s, err := parse(nil, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, "loopwright/loopwright-controllers", s.lease())
	assert.Equal(t, "loopwright", s.options.Probe.Namespace)
	assert.False(t, s.makesNamespace(), "the Role does not allow it")

	require.NoError(t, os.WriteFile(namespaceFile, []byte("\n"), 0o600))
	s, err = parse(nil, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, "loopwright-system/loopwright-controllers", s.lease(), "an empty name is none")
}

func TestWhoeverRunsOneReplicaNeedsNoLease(t *testing.T) {
	s, err := parse([]string{"--leader-elect=false", "--controllers=replicaset, endpoints"},
		io.Discard)
	require.NoError(t, err)
	assert.Equal(t, "none", s.lease())
	assert.Equal(t, []string{"replicaset", "endpoints"}, s.controllers,
		"a list with spaces is a list")
}

func TestFlagsOverrideTheFileAndTheFileTheDefaults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`apiVersion: config.loopwright.dev/v1
kind: ManagerConfiguration
manager:
  metricsBindAddress: ":9090"
  healthProbeBindAddress: ":9091"
  leaderElection: {namespace: shop, leaseDuration: 1m}
controllers:
  replicaset: {workers: 7}
`), 0o600))
	s, err := parse([]string{"--config=" + file, "--metrics-bind-address=0",
		"--controllers=replicaset", "--log-format=json", "--log-level=debug", "--skip-owner-check"},
		io.Discard)
	require.NoError(t, err)
	assert.Equal(t, "0", s.manager.Metrics.BindAddress)
	assert.Equal(t, ":9091", s.manager.HealthProbeBindAddress)
	assert.Equal(t, "shop", s.options.Probe.Namespace)
	assert.Equal(t, new(time.Minute), s.manager.LeaseDuration)
	assert.Equal(t, []string{"replicaset"}, s.controllers)
	assert.True(t, s.options.Probe.Skip)
	assert.IsType(t, &slog.JSONHandler{}, s.handler(io.Discard))
	assert.True(t, s.handler(io.Discard).Enabled(t.Context(), slog.LevelDebug))
	var options controller.Options
	options.Override(s.manager.Controller.Override("replicaset"))
	assert.Equal(t, 7, options.MaxConcurrentReconciles)
}

func TestAMistakeInTheSettingsIsNamed(t *testing.T) {
	for _, test := range []struct{ flag, want string }{
		{"--controllers=replicaset,job",
			`--controllers: there is no controller "job": there are deployment, replicaset, endpoints, endpointslice, garbagecollector`},
		{"--controllers=", "--controllers: no controller is chosen"},
		{"--set=controllers.job.workers=3", "controllers.job: there is no such controller"},
		{"--set=manager.leaderElection.leaseDuration=1s", "leaseDuration (1s) must be longer"},
		{"--log-format=xml", `--log-format "xml": want text or json`},
		{"--log-level=loud", "--help lists the flags"},
		{"--loud", "flag provided but not defined: -loud; --help lists the flags"},
		{"replicaset", `unexpected argument "replicaset"`},
		{"--config=none.yaml", "none.yaml: no such file"},
	} {
		_, err := parse([]string{test.flag}, io.Discard)
		assert.ErrorContains(t, err, test.want, test.flag)
	}
}

// It would delete objects in namespaces that the user has left out.
func TestTheGarbageCollectorCannotBeKeptToSomeNamespaces(t *testing.T) {
	_, err := parse([]string{"--controllers=garbagecollector"}, io.Discard)
	require.NoError(t, err)
	_, err = parse([]string{"--controllers=garbagecollector", "--namespaces=shop"}, io.Discard)
	require.ErrorContains(t, err, "garbagecollector works in all namespaces")
	_, err = parse([]string{"--controllers=replicaset", "--namespaces=shop"}, io.Discard)
	require.NoError(t, err)
}

func TestHelpSaysWhatTheFlagsAre(t *testing.T) {
	var out bytes.Buffer
	_, err := parse([]string{"--help"}, &out)
	require.Equal(t, flag.ErrHelp, err, "to ask for help is no mistake")
	for _, want := range []string{"make controllers", "-controllers string", "-kubeconfig",
		"-leader-elect", "/debug/xray/", "127.0.0.1:8081"} {
		assert.Contains(t, out.String(), want)
	}
	assert.NotContains(t, out.String(), "%!", "a verb without a value")
}

// With two leases, the manifests' controllers and those of `make controllers` would both work.
func TestTheManifestsTakeTheSameLease(t *testing.T) {
	manifest, err := os.ReadFile("../../config/namespace.yaml")
	require.NoError(t, err)
	assert.Contains(t, string(manifest), "name: "+leaseNamespace+"\n")
}
