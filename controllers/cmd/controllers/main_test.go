package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/cluster/clustertest"
	ctrllog "github.com/loopwright/loopwright/manager/log"
)

// asProgram makes the test binary the program.
const asProgram = "CONTROLLERS_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(clustertest.Run(m))
}

// start starts the program, and kills it at the end of the test.
func start(
	t *testing.T, namespace string, flags ...string,
) (program *exec.Cmd, said *bytes.Buffer) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	program = exec.CommandContext(ctx, os.Args[0], append([]string{
		"--kubeconfig=" + clustertest.Shared(t).Kubeconfig, "--namespaces=" + namespace,
		"--leader-election-namespace=" + namespace,
		"--metrics-bind-address=0", "--pprof-bind-address=0", "--health-probe-bind-address=0",
	}, flags...)...)
	said = &bytes.Buffer{}
	program.Stdout, program.Stderr, program.Env = said, said, append(os.Environ(), asProgram+"=1")
	require.NoError(t, program.Start())
	return program, said
}

func TestTheProgramRollsADeploymentOutAndRefusesToBeThereTwice(t *testing.T) {
	client, namespace := clustertest.Client(t), clustertest.Namespace(t)
	first, log := start(t, namespace)
	labels := map[string]string{"app": "web"}
	_, err := client.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = client.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{Name: "web", Image: "web"}},
				},
			}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		d, err := client.AppsV1().Deployments(namespace).Get(context.Background(), "web",
			metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, int32(2), d.Status.AvailableReplicas)
		e, err := client.CoreV1().Endpoints(namespace).Get(context.Background(), "web",
			metav1.GetOptions{})
		require.NoError(t, err)
		require.Len(t, e.Subsets, 1)
		require.Len(t, e.Subsets[0].Addresses, 2)
	}, time.Minute, 50*time.Millisecond)

	second, said := start(t, namespace, "--leader-election-id=another", "--controllers=replicaset")
	var exit *exec.ExitError
	require.ErrorAs(t, second.Wait(), &exit, "two programs reconcile the same ReplicaSets")
	assert.Equal(t, 1, exit.ExitCode())
	assert.Contains(t, said.String(), "\ncontrollers: ")
	assert.Contains(t, said.String(),
		"somebody else does the work of the replicaset-controller already")

	require.NoError(t, first.Process.Signal(os.Interrupt))
	require.NoError(t, first.Wait(), "to be told to stop is no error: %s", log)
	require.NotContains(t, log.String(), "deprecated", "its user can do nothing about Endpoints")
	lease, err := client.CoordinationV1().Leases(namespace).Get(t.Context(), leaseName,
		metav1.GetOptions{})
	require.NoError(t, err)
	assert.Empty(t, *lease.Spec.HolderIdentity, "another replica would have to wait")
}

func TestOnlyTheWarningAboutEndpointsIsLeftOut(t *testing.T) {
	var log bytes.Buffer
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, args string) {
		log.WriteString(args + "\n")
	}, funcr.Options{}))
	w := warnings{ctrllog.NewKubeAPIWarningLogger(ctrllog.KubeAPIWarningLoggerOptions{})}
	for _, text := range []string{
		"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
		"v1 ComponentStatus is deprecated in v1.19+", `unknown field "spec.x"`,
	} {
		w.HandleWarningHeaderWithContext(ctx, 299, "-", text)
	}
	require.NotContains(t, log.String(), "v1 Endpoints")
	require.Contains(t, log.String(), "v1 ComponentStatus is deprecated in v1.19+")
	require.Contains(t, log.String(), "spec.x")
}

// On a new cluster there is no namespace loopwright-system, and without it there is no lease. The
// lease has a name of its own, because another package's tests hold the usual one in this namespace.
func TestTheProgramMakesTheNamespaceOfItsLease(t *testing.T) {
	client, namespace := clustertest.Client(t), clustertest.Namespace(t)
	for range 2 { // the second time, the namespace exists
		program, said := start(t, namespace, "--leader-election-namespace="+leaseNamespace,
			"--leader-election-id="+namespace, "--controllers=replicaset")
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			lease, err := client.CoordinationV1().Leases(leaseNamespace).Get(t.Context(), namespace,
				metav1.GetOptions{})
			require.NoError(c, err)
			require.NotEmpty(c, *lease.Spec.HolderIdentity)
		}, time.Minute, 100*time.Millisecond)
		require.NoError(t, program.Process.Signal(os.Interrupt))
		require.NoError(t, program.Wait(), "%s", said)
	}
}
