package cluster

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// clearEnvironment takes away what a developer may have set.
func clearEnvironment(t *testing.T) {
	t.Helper()
	for _, name := range optionVariables {
		t.Setenv(name, "")
	}
}

func TestAnOptionThatMakesNoSenseIsRefusedWithThoseThatDo(t *testing.T) {
	choices := "deployment-controller, replicaset-controller, endpoints-controller, -endpointslice-controller, " +
		"-garbage-collector-controller, -namespace-controller, -job-controller, -cronjob-controller, " +
		"-daemonset-controller, -statefulset-controller, -node-lifecycle-controller, -taint-eviction-controller, or bare alone"
	for setting, want := range map[[2]string]string{
		{"CLUSTER", "nonsense"}:                   `CLUSTER="nonsense": want embedded (the default), kind or current`,
		{"NODES", "x"}:                            `NODES="x": want a whole number of at least 1`,
		{"NODES", "0"}:                            `NODES="0": want a whole number of at least 1`,
		{"NODES", "1001"}:                         `1001 nodes: want 1 to 1000`,
		{"PORT", "https"}:                         `PORT="https": want a whole number of at least 1`,
		{"PORT", "65536"}:                         `port 65536: want one of 1 to 65535, or none for any free one`,
		{"ORIGINALS", "deployment"}:               `ORIGINALS names "deployment": want some of ` + choices,
		{"ORIGINALS", "endpointslice-controller"}: `ORIGINALS names "endpointslice-controller": want some of ` + choices,
		{"ORIGINALS", "-replicaset-controller"}:   `ORIGINALS names "-replicaset-controller": want some of ` + choices,
		{"ORIGINALS", "bare,-job-controller"}:     `ORIGINALS names "bare": want some of ` + choices,
		{"YES", "perhaps"}:                        `YES="perhaps": want 1 or 0`,
		{"KIND_NAME", "../../etc"}:                `KIND_NAME="../../etc": want lower-case letters, digits, dots and dashes`,
	} {
		t.Run(setting[0]+"="+setting[1], func(t *testing.T) {
			clearEnvironment(t)
			t.Setenv(setting[0], setting[1])
			_, err := OptionsFromEnv()
			assert.EqualError(t, err, want)
		})
	}
}

func TestOptionsComeFromTheEnvironment(t *testing.T) {
	clearEnvironment(t)
	root, err := checkoutRoot()
	require.NoError(t, err)
	options, err := OptionsFromEnv()
	require.NoError(t, err)
	options.In, options.Out = nil, nil
	assert.Equal(t, Options{Mode: Embedded, Dir: filepath.Join(root, ".loopwright"), KindName: "loopwright"}, options)

	for name, value := range map[string]string{
		"CLUSTER": "kind", "NODES": "7", "PORT": "6443", "ORIGINALS": "replicaset-controller, endpoints-controller",
		"KIND_NAME": "mine", "KIND_IMAGE": "kindest/node:v1.36.1", "YES": "1", "LOOPWRIGHT_DIR": "relative",
	} {
		t.Setenv(name, value)
	}
	options, err = OptionsFromEnv()
	require.NoError(t, err)
	options.In, options.Out = nil, nil
	here, err := os.Getwd()
	require.NoError(t, err)
	assert.Equal(t, Options{
		Mode: Kind, Nodes: 7, Port: 6443, Originals: []string{"replicaset-controller", "endpoints-controller"},
		KindName: "mine", KindImage: "kindest/node:v1.36.1", Yes: true, Dir: filepath.Join(here, "relative"),
	}, options)
}

func TestADirectoryThatCannotBeUsedIsRefusedAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("mine"), 0o640))
	// Permission bits do not bind root, as whom tests may run; these do.
	for _, dir := range []string{file, filepath.Join(file, "below"), "/proc/loopwright", "/dev/null/x"} {
		for _, mode := range []Mode{Embedded, Kind} {
			fakeDocker(t, "exit 0")
			_, err := Up(t.Context(), Options{Mode: mode, Dir: dir})
			require.ErrorContains(t, err, "making the directory ", "%s", dir)
			assert.ErrorContains(t, err, "set LOOPWRIGHT_DIR to a directory that you can write to")
		}
	}
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o640), info.Mode(), "the mode of somebody's file was changed")
}

func TestWithoutGoABuildSaysWhatIsMissing(t *testing.T) {
	needsCluster(t) // for the command
	printed, err := call{
		dir: filepath.Join(t.TempDir(), "state"), env: []string{"PATH=/nonexistent", "XDG_CACHE_HOME=" + t.TempDir()},
	}.run(t, "up")
	require.Error(t, err)
	assert.Contains(t, printed, "is Go installed and on the PATH?")
}

func TestABuildThatHasNowhereToGoSaysWhatToSet(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	t.Setenv("XDG_CACHE_HOME", file)
	t.Setenv("HOME", file) // macOS knows no XDG_CACHE_HOME
	err := Build(t.Context(), &bytes.Buffer{})
	require.ErrorContains(t, err, "set XDG_CACHE_HOME to a directory that you can write to")
}

func TestOutsideACheckoutUpSaysSo(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := Up(t.Context(), Options{})
	assert.ErrorContains(t, err, "no checkout of github.com/loopwright/loopwright at or above")
}

func TestTheShellsEnvironmentDoesNotReachTheCluster(t *testing.T) {
	dir := sharedDir(t)
	call{dir: dir}.must(t, "down")
	garbage := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(garbage, []byte("{{{ no YAML"), 0o600))
	const deadEnd = "http://127.0.0.1:9" // discard: no process listens there
	hostile := []string{
		"KUBECONFIG=" + garbage, "HTTP_PROXY=" + deadEnd, "HTTPS_PROXY=" + deadEnd, "ALL_PROXY=" + deadEnd,
		"http_proxy=" + deadEnd, "https_proxy=" + deadEnd, "all_proxy=" + deadEnd, "NO_PROXY=", "no_proxy=",
		"GOFLAGS=-nonsense", "GOOS=plan9", "GOARCH=mips", "GOWORK=/nonexistent/go.work", "GODEBUG=x509negativeserial=1,http2client=0",
		"KUBE_FEATURE_WatchListClient=false", "ETCD_LISTEN_CLIENT_URLS=http://0.0.0.0:2379", "LOOPWRIGHT_ALIVE_FD=1",
	}
	at := place{dir: dir}
	assert.Contains(t, call{dir: dir, env: hostile, shell: "umask 0277"}.must(t, "up"), "Ready: ")
	assert.Contains(t, call{dir: dir, env: hostile}.must(t, "status"), "3 of them ready")
	for _, variable := range partEnvironment(at) {
		name, _, _ := strings.Cut(variable, "=") // not the value: it may be a secret
		assert.Contains(t, []string{"PATH", "HOME", "TMPDIR"}, name, "the parts get more than they need")
	}
	kubectl(t, at, "get", "nodes")
}

// kubeadm's nodes cannot join a cluster that has no bootstrap signer.
func TestABareKindClusterIsRefused(t *testing.T) {
	_, err := Options{Mode: Kind, Originals: []string{Bare}, Dir: t.TempDir()}.withDefaults()
	assert.EqualError(t, err, "ORIGINALS=bare needs CLUSTER=embedded: kubeadm's nodes need more controllers to join")
}

// Whoever runs mini's controllers on a bare cluster would meet an original that does the same work.
func TestABareClusterRunsNoControllerThatThisProjectRebuilds(t *testing.T) {
	flag := strings.Split(controllersFlag("*", []string{Bare}), ",")
	assert.Contains(t, flag, "serviceaccount-controller", "without a ServiceAccount, the API server refuses Pods")
	assert.NotContains(t, flag, "*")
	for _, name := range slices.Concat(SampleControllers, OptionalControllers) {
		assert.NotContains(t, flag, name)
	}
}
