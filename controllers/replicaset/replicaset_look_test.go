package replicaset

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/interceptor"
)

// listsOf counts the lists that go through a client.
func listsOf(to client.Client, lists *int) client.Client {
	return interceptor.NewClient(to.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			*lists++
			return c.List(ctx, list, opts...)
		},
	})
}

// Most looks have nothing to adopt or to release, and need not wait until the cache has the last writes.
func TestALookThatWouldChangeAnOwnerIsRepeatedAndWaits(t *testing.T) {
	orphan, strayed, finished, going, foreign := there("a"), there("a"), there("a"), there("a"), there("a")
	orphan.OwnerReferences, finished.OwnerReferences = nil, nil
	strayed.Labels = map[string]string{"app": "other"}
	finished.Status.Phase = corev1.PodSucceeded
	going.Finalizers, going.DeletionTimestamp = []string{"example.com/wait"}, new(metav1.Now())
	foreign.OwnerReferences[0].UID = "another"
	foreign.Finalizers, foreign.DeletionTimestamp = going.Finalizers, going.DeletionTimestamp
	for _, c := range []struct {
		what                string
		pod                 *corev1.Pod
		waits               int
		active, terminating int
	}{
		{"its own", there("a"), 0, 1, 0},
		{"an orphan", orphan, 1, 1, 0},
		{"one that has other labels now", strayed, 1, 0, 0},
		{"an orphan that has finished", finished, 0, 0, 0},
		{"its own, which is being deleted", going, 0, 0, 1},
		{"that of another set of this name, which is being deleted", foreign, 0, 0, 0},
	} {
		waits := 0
		r := in(interceptor.Funcs{}, newReplicaSet(1), c.pod)
		r.client = listsOf(r.client, &waits)
		seen, err := r.look(t.Context(), webSet)
		require.NoError(t, err, c.what)
		require.Equal(t, []int{c.waits, c.active, c.terminating}, []int{waits, len(seen.active), len(seen.terminating)}, c.what)
		require.Equal(t, c.waits > 0, r.unseen.has(webSet), "%s: the next look waits for what this one has written", c.what)
	}
}

// Without that, a condition would stay after its reason has gone.
func TestAStatusWithoutConditionsDeletesThem(t *testing.T) {
	data, err := statusPatch("a", appsv1.ReplicaSetStatus{}).Data(nil)
	require.NoError(t, err)
	require.Contains(t, string(data), `"conditions":null`)
	data, err = statusPatch("a", appsv1.ReplicaSetStatus{Conditions: []appsv1.ReplicaSetCondition{{Type: "Odd"}}}).Data(nil)
	require.NoError(t, err)
	require.Contains(t, string(data), `"type":"Odd"`)
}

// Nobody tells the controller that a Pod has been ready for long enough.
func TestAPodThatIsNotAvailableYetIsLookedAtAgain(t *testing.T) {
	rs, pod := newReplicaSet(1), there("a")
	rs.Spec.MinReadySeconds = 3600
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	r := in(interceptor.Funcs{}, rs, pod)
	for _, what := range []string{"the status is written", "it is written already"} {
		result, err := r.Reconcile(t.Context(), webRequest)
		require.NoError(t, err, what)
		require.Greater(t, result.RequeueAfter, time.Second, what)
		require.LessOrEqual(t, result.RequeueAfter, time.Hour+time.Second, what)
	}
}
