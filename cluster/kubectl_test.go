package cluster

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kubectl runs the one that was built along, as a user does.
func kubectl(t testing.TB, at place, arguments ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, at.kubectl(), arguments...)
	command.Env = []string{"KUBECONFIG=" + at.kubeconfig(), "HOME=" + t.TempDir()}
	printed, err := command.CombinedOutput()
	require.NoError(t, err, "kubectl %s\n%s", strings.Join(arguments, " "), printed)
	return string(printed)
}

func TestKubectlWorksAsUsual(t *testing.T) {
	client, at := sharedClient(t), shared(t).embedded.at
	namespace := "--namespace=" + newNamespace(t, client)

	assert.Contains(t, kubectl(t, at, "version"), "Server Version: "+kubernetesVersion)
	assert.Contains(t, kubectl(t, at, "version"), "Client Version: "+kubernetesVersion)
	nodes := strings.Split(strings.TrimSpace(kubectl(t, at, "get", "nodes", "--no-headers")), "\n")
	assert.Len(t, nodes, defaultNodes)
	for _, node := range nodes {
		assert.Regexp(t, `^node-[123] +Ready `, node)
	}

	kubectl(t, at, "run", "web", namespace, "--image=nginx")
	kubectl(t, at, "wait", "pod/web", namespace, "--for=condition=Ready", "--timeout=60s")
	kubectl(t, at, "delete", "pod/web", namespace) // which waits until it is gone
	assert.Contains(t, kubectl(t, at, "get", "pods", namespace), "No resources found")

	kubectl(t, at, "create", "deployment", "web", namespace, "--image=nginx")
	runJob(t, client, strings.TrimPrefix(namespace, "--namespace="), "later") // see the test on what is left to the reader
	assert.Equal(t, "{}", kubectl(t, at, "get", "deployment/web", namespace, "--output=jsonpath={.status}"))
	kubectl(t, at, "delete", "deployment/web", namespace)
}

func TestKubectlDeleteOfAJobTakesItsPodsAlong(t *testing.T) {
	client, at := sharedClient(t), shared(t).embedded.at
	namespace := newNamespace(t, client)
	runJob(t, client, namespace, "pi")
	pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, pods.Items, 3)
	kubectl(t, at, "delete", "job/pi", "--namespace="+namespace)
	eventually(t, "the garbage collector removes the Job's pods", func() error {
		pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		if err == nil && len(pods.Items) > 0 {
			err = errors.New("some are left")
		}
		return err
	})
}
