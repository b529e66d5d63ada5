package cluster

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func TestEveryPartComesBackAfterARestartAndTheKubeconfigStaysGood(t *testing.T) {
	up := shared(t)
	at := up.embedded.at
	client, kubeconfig := clientOf(t, at.dir), readFile(t, at.kubeconfig())
	for _, part := range Parts {
		before := pids(t, at.dir)
		require.NoError(t, up.Restart(t.Context(), part, 0), "%s", part)
		_, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err, "after a restart of %s", part)
		after := pids(t, at.dir)
		assert.NotEqual(t, before[part], after[part], "%s is the process that it was", part)
		before[part] = after[part]
		assert.Equal(t, before, after, "another part than %s was restarted too", part)
	}
	assert.Equal(t, kubeconfig, readFile(t, at.kubeconfig()))
	runJob(t, client, newNamespace(t, client), "afterwards") // all parts have a hand in it
	assertNodesWereFree(t, client)
}

// assertNodesWereFree shows that no pod had to wait until a lease expired that a dead kwok held: a
// process that takes a lease over counts it as a transition.
func assertNodesWereFree(t testing.TB, client kubernetes.Interface) {
	t.Helper()
	leases, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, leases.Items, defaultNodes)
	for _, lease := range leases.Items {
		assert.Nil(t, lease.Spec.LeaseTransitions, "pods on %s had to wait for up to 40 s", lease.Name)
	}
}

func TestAPartStaysAwayForAsLongAsItIsAskedTo(t *testing.T) {
	up := shared(t)
	refused := make(chan struct{})
	stop := make(chan struct{})
	go func() {
		defer close(refused)
		for {
			select {
			case <-stop:
				return
			default:
			}
			connection, err := net.Dial("tcp", strings.TrimPrefix(up.RESTConfig().Host, "https://"))
			if err != nil {
				return
			}
			_ = connection.Close()
			time.Sleep(pollInterval / 4) // a flood would be kept waiting, not refused
		}
	}()
	err := up.Restart(t.Context(), APIServer, 200*time.Millisecond)
	select {
	case <-refused:
	default:
		t.Error("a demo of a crash has none to show")
	}
	close(stop)
	<-refused
	require.NoError(t, err)
}

func TestHistoryBeforeACompactionIsGone(t *testing.T) {
	up := shared(t)
	client := sharedClient(t)
	namespace := newNamespace(t, client)
	first, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "first"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	old := metav1.ListOptions{ResourceVersion: first.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	// The API server keeps no cache of Events, so these lists reach etcd.
	_, err = client.CoreV1().Events(namespace).List(t.Context(), old)
	require.NoError(t, err, "or the failure below proves nothing")
	_, err = client.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "second"}}, metav1.CreateOptions{})
	require.NoError(t, err)

	revision, err := up.Compact(t.Context())
	require.NoError(t, err)
	assert.Greater(t, fmt.Sprint(revision), first.ResourceVersion)
	_, err = client.CoreV1().Events(namespace).List(t.Context(), old)
	assert.True(t, apierrors.IsResourceExpired(err), "410 Gone is what a reader wants to see here: %v", err)
}

func TestRestartAndCompactSayWhereTheyCannotWork(t *testing.T) {
	for _, up := range []*Cluster{{Mode: Current}, {Mode: Kind}} {
		_, err := up.Compact(t.Context())
		assert.True(t, errors.Is(err, ErrOutOfReach), "%v", err)
		assert.ErrorContains(t, err, "use CLUSTER=embedded")
		assert.ErrorIs(t, up.Restart(t.Context(), Etcd, 0), ErrOutOfReach)
	}
}

func TestDownRefusesTheCurrentKubeconfigsCluster(t *testing.T) {
	assert.ErrorContains(t, Down(t.Context(), Options{Mode: Current}), "this project did not make that cluster")
}

func BenchmarkUp(b *testing.B) {
	needsCluster(b)
	if err := Build(b.Context(), b.Output()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		b.StopTimer()
		dir := newDir(b)
		if err := Down(b.Context(), Options{Dir: dir}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		up, err := Up(b.Context(), Options{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := kubernetes.NewForConfig(up.RESTConfig()); err != nil {
			b.Fatal(err)
		}
	}
}
