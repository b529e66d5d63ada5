package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/yaml"
)

func TestKindsConfigurationSwitchesTheOriginalsOff(t *testing.T) {
	const flag = "*,bootstrapsigner,tokencleaner,-deployment-controller,-replicaset-controller,-endpoints-controller"
	content, err := kindConfig(nil, false)
	require.NoError(t, err)
	var config v1alpha4.Cluster
	require.NoError(t, yaml.UnmarshalStrict(content, &config))
	assert.Equal(t, v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"}, config.TypeMeta)
	require.Len(t, config.Nodes, 1)
	require.Len(t, config.KubeadmConfigPatches, 2)

	type manager[Args any] struct {
		APIVersion        string `json:"apiVersion"`
		Kind              string `json:"kind"`
		ControllerManager struct {
			ExtraArgs Args `json:"extraArgs"`
		} `json:"controllerManager"`
	}
	var today manager[[]map[string]string]
	require.NoError(t, yaml.UnmarshalStrict([]byte(config.KubeadmConfigPatches[0]), &today))
	assert.Equal(t, "kubeadm.k8s.io/v1beta4 ClusterConfiguration", today.APIVersion+" "+today.Kind)
	assert.Equal(t, []map[string]string{{"name": "controllers", "value": flag}}, today.ControllerManager.ExtraArgs)
	var before manager[map[string]string]
	require.NoError(t, yaml.UnmarshalStrict([]byte(config.KubeadmConfigPatches[1]), &before))
	assert.Equal(t, "kubeadm.k8s.io/v1beta3 ClusterConfiguration", before.APIVersion+" "+before.Kind)
	assert.Equal(t, map[string]string{"controllers": flag}, before.ControllerManager.ExtraArgs)
}

func TestKindsConfigurationKeepsTheOriginalsThatAreAskedFor(t *testing.T) {
	content, err := kindConfig([]string{"replicaset-controller"}, false)
	require.NoError(t, err)
	assert.Contains(t, string(content), "-deployment-controller,-endpoints-controller")
	assert.NotContains(t, string(content), "-replicaset-controller")
	assert.NotContains(t, string(content), "endpointslice", "it is on unless somebody says otherwise")
	content, err = kindConfig([]string{"-endpointslice-controller"}, false)
	require.NoError(t, err)
	assert.Contains(t, string(content), "-endpoints-controller,-endpointslice-controller")
}

func TestOnlyAHostWithOldCgroupsGetsTheKubeletPatch(t *testing.T) {
	for old, patches := range map[bool]int{true: 3, false: 2} {
		content, err := kindConfig(nil, old)
		require.NoError(t, err)
		var config v1alpha4.Cluster
		require.NoError(t, yaml.UnmarshalStrict(content, &config))
		require.Len(t, config.KubeadmConfigPatches, patches)
		assert.Equal(t, old, strings.Contains(string(content), "failCgroupV1: false"), "a kubelet does not start")
	}
}

// managerPod is the kube-controller-manager that kubeadm runs.
func managerPod(flags ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-controller-manager-x", Namespace: "kube-system", Labels: map[string]string{"component": "kube-controller-manager"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "kube-controller-manager", Command: append([]string{"kube-controller-manager"}, flags...)}}},
	}
}

func TestControllersThatAreOnAreFound(t *testing.T) {
	all := "--controllers=*,bootstrapsigner,tokencleaner,"
	for name, test := range map[string]struct {
		flags  []string
		active []string
	}{
		"none is off":      {nil, SampleControllers},
		"all are off":      {[]string{all + "-deployment-controller,-replicaset-controller,-endpoints-controller"}, nil},
		"one is on":        {[]string{all + "-deployment-controller,-endpoints-controller"}, []string{"replicaset-controller"}},
		"a similar name":   {[]string{all + "-deployment-controller,-endpoints-controller,-replicaset-controller-2"}, []string{"replicaset-controller"}},
		"explicitly named": {[]string{"--controllers=deployment-controller"}, SampleControllers},
	} {
		test.active = append(slices.Clone(test.active), OptionalControllers...) // no flag here switches one off
		t.Run(name, func(t *testing.T) {
			active, err := activeControllers(t.Context(), fake.NewClientset(managerPod(test.flags...)))
			require.NoError(t, err)
			assert.Equal(t, test.active, active)
		})
	}
	_, err := activeControllers(t.Context(), fake.NewClientset())
	assert.ErrorContains(t, err, "no pod in kube-system has the label component=kube-controller-manager")
}

// A fake docker that has one kind cluster: kind finds the node, asks it for the
// administrator's kubeconfig, and replaces the server by the port that docker
// published. Every call is written down in calls.
const dockerWithACluster = `
echo "$*" >>"$0.calls"
case "$1 $*" in
"ps "*kind.cluster=*) echo mine-control-plane ;;
"ps "*filter*) echo mine ;;
"ps "*) ;;
"inspect "*kind.role*) echo control-plane ;;
"inspect "*desktop.docker.io*) echo ;;
"inspect "*) echo "127.0.0.1	PORT" ;;
"exec "*admin.conf*) cat "$0.kubeconfig" ;;
"rm "*) ;;
*) echo "not expected: $*" >&2; exit 1 ;;
esac`

// kindCluster serves as the API server of a kind cluster whose
// kube-controller-manager has these flags.
func kindCluster(t *testing.T, flags ...string) (docker string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/readyz":
			_, _ = fmt.Fprint(w, "ok")
		case "/api/v1/namespaces/kube-system/pods":
			w.Header().Set("Content-Type", "application/json")
			list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []corev1.Pod{*managerPod(flags...)}}
			_ = json.NewEncoder(w).Encode(list)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	port := server.URL[strings.LastIndex(server.URL, ":")+1:]
	docker = filepath.Join(fakeDocker(t, strings.ReplaceAll(dockerWithACluster, "PORT", port)), "docker")
	kubeconfig := fmt.Sprintf(`{"kind": "Config", "apiVersion": "v1", "current-context": "x",
		"clusters": [{"name": "x", "cluster": {"server": %q, "insecure-skip-tls-verify": true}}],
		"users": [{"name": "x", "user": {"token": "t"}}], "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}]}`, server.URL)
	require.NoError(t, os.WriteFile(docker+".kubeconfig", []byte(kubeconfig), 0o600))
	return docker
}

func TestAKindClusterThatRunsItsOwnControllersIsRefused(t *testing.T) {
	docker := kindCluster(t, "--controllers=*,bootstrapsigner,tokencleaner")
	dir := t.TempDir()
	_, err := Up(t.Context(), Options{Mode: Kind, Dir: dir, KindName: "mine"})
	require.EqualError(t, err, `the kind cluster "mine" runs its own deployment-controller, replicaset-controller, endpoints-controller:`+
		" allow it with ORIGINALS=deployment-controller,replicaset-controller,endpoints-controller,"+
		" choose another cluster with KIND_NAME=..., or remove this one with `kind delete cluster --name mine`")
	assert.NotContains(t, readFile(t, docker+".calls"), "rm ", "a cluster that somebody else made was removed")
}

// The chapter's own controller would fight with Kubernetes', or nobody would do the work, and the
// program would print wrong numbers and end with 0.
func TestAKindClusterThatWasMadeForAnotherChapterIsRefused(t *testing.T) {
	samples := "-deployment-controller,-replicaset-controller,-endpoints-controller"
	for name, c := range map[string]struct {
		flags, originals, says string
	}{
		"it runs what has to be off": {"*," + samples, "-job-controller",
			"runs its own job-controller: allow it with ORIGINALS=, choose another cluster with KIND_NAME=..., or remove"},
		"it runs one of two": {"*," + samples + ",-job-controller", "-job-controller,-cronjob-controller",
			"runs its own cronjob-controller: allow it with ORIGINALS=-job-controller, choose"},
		"it lacks what has to be on": {"*," + samples + ",-job-controller", "", "lacks job-controller, which it was made without"},
		"it lacks a sample":          {"*," + samples, "deployment-controller", "lacks deployment-controller"},
		"it is as wanted":            {"*," + samples + ",-job-controller", "-job-controller", ""},
		"one more is on, as wanted":  {"*,-replicaset-controller,-endpoints-controller", "deployment-controller", ""},
	} {
		t.Run(name, func(t *testing.T) {
			kindCluster(t, "--controllers="+c.flags)
			options := Options{Mode: Kind, Dir: t.TempDir(), KindName: "mine"}
			if c.originals != "" {
				options.Originals = strings.Split(c.originals, ",")
			}
			_, err := Up(t.Context(), options)
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, `the kind cluster "mine" `+c.says)
			require.ErrorContains(t, err, "`kind delete cluster --name mine`")
		})
	}
}

func TestAKindClusterThatLeavesTheSamplesAloneIsReused(t *testing.T) {
	kindCluster(t, "--controllers=*,-deployment-controller,-replicaset-controller,-endpoints-controller")
	dir := t.TempDir()
	up, err := Up(t.Context(), Options{Mode: Kind, Dir: dir, KindName: "mine"})
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(dir, "kind", "mine.kubeconfig"), up.Kubeconfig)
	info, err := os.Stat(up.Kubeconfig)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	assert.NoFileExists(t, filepath.Join(dir, "kind.lock"))
}

func TestDownDeletesTheKindCluster(t *testing.T) {
	docker := kindCluster(t)
	require.NoError(t, Down(t.Context(), Options{Mode: Kind, Dir: t.TempDir(), KindName: "mine"}))
	assert.Contains(t, readFile(t, docker+".calls"), "rm -f -v mine-control-plane")
}
