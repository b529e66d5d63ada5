package deployment

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/manager/client"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// shell is a user with kubectl and a namespace on the embedded cluster. The original controllers
// are switched off there, and kwok plays the nodes: a Pod becomes ready, except with a bad image.
type shell struct {
	*testing.T
	namespace string
	client    client.Client
}

func startOnCluster(t *testing.T) *shell {
	c, err := client.New(clustertest.Config(t), client.Options{})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	options := controllers.Options{Probe: controllers.ProbeOptions{Skip: true}}
	go func() { ended <- controllers.Run(ctx, clustertest.Config(t), options, bothControllers) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return &shell{t, clustertest.Namespace(t), c}
}

// try runs kubectl, as a user does. The arguments are separated by spaces.
func (s *shell) try(stdin, arguments string) (string, error) {
	s.Helper()
	shared := clustertest.Shared(s)
	ctx, cancel := context.WithTimeout(s.Context(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, shared.Kubectl,
		append(strings.Fields(arguments), "--namespace="+s.namespace)...)
	command.Env = []string{"KUBECONFIG=" + shared.Kubeconfig, "HOME=" + s.TempDir()}
	command.Stdin = strings.NewReader(stdin)
	printed, err := command.CombinedOutput()
	return string(printed), err
}

func (s *shell) kubectl(arguments string) string {
	s.Helper()
	printed, err := s.try("", arguments)
	require.NoError(s, err, "kubectl %s\n%s", arguments, printed)
	return printed
}

func (s *shell) web() *appsv1.Deployment {
	s.Helper()
	d := &appsv1.Deployment{}
	require.NoError(s, s.client.Get(s.Context(),
		client.ObjectKey{Namespace: s.namespace, Name: "web"}, d))
	return d
}

// sizes returns the sizes of the ReplicaSets, by image.
func (s *shell) sizes() (sizes []string) {
	s.Helper()
	var list appsv1.ReplicaSetList
	require.NoError(s, s.client.List(s.Context(), &list, client.InNamespace(s.namespace)))
	for _, rs := range list.Items {
		sizes = append(sizes, fmt.Sprintf("%s: %d of %d", rs.Spec.Template.Spec.Containers[0].Image,
			rs.Status.AvailableReplicas, *rs.Spec.Replicas))
	}
	slices.Sort(sizes)
	return sizes
}

func TestKubectlRolloutOnACluster(t *testing.T) {
	s := startOnCluster(t)
	s.kubectl("create deployment web --image=web:1 --replicas=4")
	require.Contains(t, s.kubectl("rollout status deployment/web --timeout=90s"),
		`deployment "web" successfully rolled out`)
	require.Contains(t, s.kubectl("wait deployment/web --for=condition=Available --timeout=90s"),
		"condition met")

	s.kubectl("set image deployment/web web=web:2")
	require.Contains(t, s.kubectl("rollout status deployment/web --timeout=90s"),
		"successfully rolled out")
	require.Equal(t, []string{"web:1: 0 of 0", "web:2: 4 of 4"}, s.sizes())
	history := s.kubectl("rollout history deployment/web")
	require.Regexp(t, `(?m)^1 +<none>$`, history)
	require.Regexp(t, `(?m)^2 +<none>$`, history)
	require.Contains(t, s.kubectl("rollout history deployment/web --revision=1"), "Image:	web:1")

	s.kubectl("rollout undo deployment/web")
	require.Contains(t, s.kubectl("rollout status deployment/web --timeout=90s"),
		"successfully rolled out")
	require.Equal(t, []string{"web:1: 4 of 4", "web:2: 0 of 0"}, s.sizes())
	history = s.kubectl("rollout history deployment/web")
	require.NotRegexp(t, `(?m)^1 `, history, "the old ReplicaSet has the new revision")
	require.Regexp(t, `(?m)^3 +<none>$`, history)
	s.kubectl("rollout undo deployment/web --to-revision=2")
	require.Contains(t, s.kubectl("rollout status deployment/web --timeout=90s"),
		"successfully rolled out")
	require.Equal(t, []string{"web:1: 0 of 0", "web:2: 4 of 4"}, s.sizes())

	s.kubectl("rollout restart deployment/web")
	require.Contains(t, s.kubectl("rollout status deployment/web --timeout=90s"),
		"successfully rolled out")
	require.Equal(t, []string{"web:1: 0 of 0", "web:2: 0 of 0", "web:2: 4 of 4"}, s.sizes())

	s.kubectl("scale deployment/web --replicas=6")
	require.Contains(t, s.kubectl("rollout status deployment/web --timeout=90s"),
		"successfully rolled out")
	require.Equal(t, int32(6), s.web().Status.AvailableReplicas)

	s.kubectl("rollout pause deployment/web")
	s.kubectl("set image deployment/web web=web:3")
	s.kubectl("scale deployment/web --replicas=3")
	s.kubectl("wait deployment/web --for=jsonpath={.status.replicas}=3 --timeout=90s")
	require.NotContains(t, fmt.Sprint(s.sizes()), "web:3")
	require.Contains(t, fmt.Sprint(s.web().Status.Conditions), "DeploymentPaused")
	s.kubectl("rollout resume deployment/web")
	require.Contains(t, s.kubectl("rollout status deployment/web --timeout=90s"),
		"successfully rolled out")
	require.Contains(t, s.sizes(), "web:3: 3 of 3")

	described := s.kubectl("describe deployment/web")
	require.Contains(t, described, "MinimumReplicasAvailable")
	require.Contains(t, described, "NewReplicaSetAvailable")
	require.Regexp(t, `NewReplicaSet: +web-[a-z0-9]+ \(3/3 replicas created\)`, described)
	require.Contains(t, described, "ScalingReplicaSet")
	require.Regexp(t, `web +3/3 +3 +3 `, s.kubectl("get deployment/web"))
}

// manifest is a Deployment with an image that the applier owns. It has no field that the controller
// writes.
const manifest = `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {
	"progressDeadlineSeconds": 2, "replicas": 4, "selector": {"matchLabels": {"app": "web"}}, "template": {
		"metadata": {"labels": {"app": "web"}}, "spec": {%s"containers": [{"name": "web", "image": "%s"}]}}}}`

func (s *shell) apply(more, image string) {
	s.Helper()
	printed, err := s.try(fmt.Sprintf(manifest, more, image), "apply --server-side -f -")
	require.NoError(s, err, printed)
}

func TestABadRolloutThatIsAppliedOnACluster(t *testing.T) {
	s := startOnCluster(t)
	s.apply("", "web:1")
	require.Contains(t, s.kubectl("rollout status deployment/web --timeout=90s"),
		"successfully rolled out")
	s.apply(`"nodeSelector": {"no": "node"}, `, "web:2") // such a Pod stays Pending
	printed, err := s.try("", "rollout status deployment/web --timeout=90s")
	require.Error(t, err)
	require.Contains(t, printed, `deployment "web" exceeded its progress deadline`)
	require.Equal(t, []string{"web:1: 3 of 3", "web:2: 0 of 2"}, s.sizes())
	s.kubectl("wait deployment/web --for=condition=Available --timeout=90s")
	s.apply("", "web:1") // no conflict: the controller owns nothing that is applied
	require.Contains(t, s.kubectl("rollout status deployment/web --timeout=90s"),
		"successfully rolled out")
	require.Equal(t, []string{"web:1: 4 of 4", "web:2: 0 of 0"}, s.sizes())
	require.Equal(t, "3", s.web().Annotations[revisionAnnotation])

	s.kubectl(`patch deployment/web --type=merge -p {"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}`)
	s.kubectl("set image deployment/web web=web:3")
	require.Contains(t, s.kubectl("rollout status deployment/web --timeout=90s"),
		"successfully rolled out")
	require.Contains(t, s.sizes(), "web:3: 4 of 4")
	s.kubectl("delete deployment/web --cascade=foreground --timeout=90s")
	require.Empty(t, s.sizes())
}

// Whether a patch may test the status, and how a field is tested that isn't there, is up to the server.
func TestARealServerRefusesToShrinkAReplicaSetIfOtherPodsAreAvailable(t *testing.T) {
	c, err := client.New(clustertest.Config(t), client.Options{})
	require.NoError(t, err)
	rs := setOf("web:1", 3, 3, 1)
	rs.Namespace, rs.UID, rs.OwnerReferences = clustertest.Namespace(t), "", nil
	require.NoError(t, c.Create(t.Context(), rs))
	shrink := func(available int32) error {
		read := rs.DeepCopy()
		read.Status.AvailableReplicas = available
		data, err := json.Marshal([]operation{stillServes(read), {"add", "/spec/replicas", 2}})
		require.NoError(t, err)
		return c.Patch(t.Context(), read, client.RawPatch(types.JSONPatchType, data))
	}
	require.True(t, apierrors.IsInvalid(shrink(1)))
	require.NoError(t, shrink(0))
	require.NoError(t, c.Status().Patch(t.Context(), rs, client.RawPatch(types.MergePatchType,
		[]byte(`{"status":{"replicas":3,"readyReplicas":3,"availableReplicas":2}}`))))
	require.True(t, apierrors.IsInvalid(shrink(0)))
	require.True(t, apierrors.IsInvalid(shrink(1)))
	require.NoError(t, shrink(2))
}
