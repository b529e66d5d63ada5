package replicaset

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// A list waits for all that the controller has written in its namespace, for other ReplicaSets too. If that took long,
// one busy namespace would be slower than many quiet ones.
func TestReplicaSetsOfOneNamespaceHardlyWaitForEachOther(t *testing.T) {
	took := map[int]time.Duration{}
	for _, namespaces := range []int{1, 40} {
		inWorld(t, func(t *testing.T, w *world) {
			for i := range namespaces {
				w.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("shop-", i)}})
			}
			for i := range 40 {
				w.set(3, func(rs *appsv1.ReplicaSet) {
					rs.Name, rs.Namespace = fmt.Sprint("web-", i), fmt.Sprint("shop-", i%namespaces)
					rs.Spec.Selector.MatchLabels = map[string]string{"app": rs.Name}
					rs.Spec.Template.Labels = rs.Spec.Selector.MatchLabels
				})
			}
			for _, verb := range []string{"create", "patch"} {
				w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: agent, Verb: verb}, Delay: 10 * time.Millisecond})
			}
			w.Server.Inject(fakeapi.Fault{Match: watches, DelayEvents: time.Millisecond})
			w.Start()
			began := time.Now()
			last := fakeapi.Match{UserAgent: agent, Resource: "replicasets", Subresource: "status"}
			for len(w.Server.Requests(last)) < 40 {
				time.Sleep(time.Millisecond)
				synctest.Wait()
			}
			took[namespaces] = time.Since(began)
			require.Equal(t, 120, w.Wrote()["create pods"])
		})
	}
	t.Logf("40 ReplicaSets took %v in one namespace, and %v in 40", took[1], took[40])
	require.Less(t, took[1], took[40]*3/2, "with a wait in each list, it is more than twice as long")
}

func controlled(pod *corev1.Pod) {
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(newReplicaSet(1), kind)}
}

// A Pod that counts twice is one too many, and another one would be deleted for it.
func TestAPodThatHasLostItsOwnerBetweenTwoListsCountsOnce(t *testing.T) {
	a, b, c := settledPod("a", controlled), settledPod("b", controlled), settledPod("c")
	orphan := settledPod("b")
	require.Equal(t, []*corev1.Pod{a, orphan, c}, together([]*corev1.Pod{a, b}, []*corev1.Pod{orphan, c}))
	require.Equal(t, []*corev1.Pod{a, b}, together([]*corev1.Pod{a, b}, nil))
}
