package mini_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

// evicting runs the controller that evicts Pods from tainted nodes, until stop is called.
func (w *world) evicting() (stop func()) {
	w.Helper()
	m := mini.NewManager(w.Cluster)
	c, err := mini.NewTaintEvictionController(m)
	require.NoError(w, err)
	m.AddController(c)
	ctx, cancel := context.WithCancel(w.ctx)
	ended := make(chan error, 1)
	w.running.Go(func() { ended <- m.Run(ctx) })
	synctest.Wait()
	return func() {
		cancel()
		require.NoError(w, <-ended)
	}
}

func (w *world) taintedNode(name string, taints ...corev1.Taint) {
	w.Helper()
	_, err := w.Other.CoreV1().Nodes().Create(w.ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Taints: taints},
	}, metav1.CreateOptions{})
	require.NoError(w, err)
}

// taint replaces the taints of a node, as kubectl does.
func (w *world) taint(name string, taints ...corev1.Taint) {
	w.Helper()
	node, err := w.Other.CoreV1().Nodes().Get(w.ctx, name, metav1.GetOptions{})
	require.NoError(w, err)
	node.Spec.Taints = taints
	_, err = w.Other.CoreV1().Nodes().Update(w.ctx, node, metav1.UpdateOptions{})
	require.NoError(w, err)
}

// runsOn creates a Pod on a node. When it is deleted, it has a day to end.
func (w *world) runsOn(node, name string, tolerations ...corev1.Toleration) {
	w.Helper()
	_, err := w.Other.CoreV1().Pods("default").Create(w.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			NodeName: node, Tolerations: tolerations, TerminationGracePeriodSeconds: new(int64(86400)),
			Containers: []corev1.Container{{Name: "c", Image: "i"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(w, err)
}

// evictedAfter lets some time pass, and says which Pods are ending.
func (w *world) evictedAfter(d time.Duration) (names []string) {
	w.Helper()
	time.Sleep(d)
	synctest.Wait()
	pods, err := w.Other.CoreV1().Pods("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w, err)
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp != nil {
			names = append(names, pod.Name)
		}
	}
	return names
}

var broken = corev1.Taint{Key: "example.com/broken", Effect: corev1.TaintEffectNoExecute}

// tolerates is a toleration of all taints with this key; without seconds, forever.
func tolerates(key string, seconds ...int64) corev1.Toleration {
	t := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists}
	for _, s := range seconds {
		t.TolerationSeconds = &s
	}
	return t
}

// A Pod without a toleration would stay on a node that destroys its data.
func TestAPodStaysOnATaintedNodeForAsLongAsItTolerates(t *testing.T) {
	inMemory(t, func(w *world) {
		w.taintedNode("a")
		w.runsOn("a", "delicate")
		w.runsOn("a", "minute", tolerates(broken.Key, 60))
		w.runsOn("a", "none", tolerates(broken.Key, 0))
		w.runsOn("a", "negative", tolerates(broken.Key, -5))
		w.runsOn("a", "other", tolerates("example.com/loud"))
		w.runsOn("a", "tough", tolerates(broken.Key))
		w.runsOn("a", "toughest", corev1.Toleration{Operator: corev1.TolerationOpExists})
		w.runsOn("b", "elsewhere")
		w.evicting()
		require.Empty(w, w.evictedAfter(time.Minute))
		w.taint("a", broken)
		atOnce := []string{"delicate", "negative", "none", "other"}
		require.Equal(w, atOnce, w.evictedAfter(0))
		require.Equal(w, atOnce, w.evictedAfter(58*time.Second))
		require.Equal(w, []string{"delicate", "minute", "negative", "none", "other"}, w.evictedAfter(3*time.Second))
		require.Equal(w, []string{"delicate", "minute", "negative", "none", "other"}, w.evictedAfter(time.Hour))
		require.Equal(w, 1, w.requestsTo("patch", "nodes"), "the taint's time is written once, not at each reconcile")
		require.Equal(w, 5, w.requestsTo("delete", "pods"), "each Pod is told once")
	})
}

// A node that was away for a moment keeps its Pods.
func TestATaintThatIsRemovedInTimeEndsNothing(t *testing.T) {
	inMemory(t, func(w *world) {
		w.taintedNode("a")
		w.runsOn("a", "minute", tolerates(broken.Key, 60))
		w.evicting()
		w.taint("a", broken)
		require.Empty(w, w.evictedAfter(50*time.Second))
		w.taint("a")
		require.Empty(w, w.evictedAfter(time.Hour))
		w.taint("a", broken)
		require.Empty(w, w.evictedAfter(50*time.Second), "the time starts over")
		require.Equal(w, []string{"minute"}, w.evictedAfter(11*time.Second))
	})
}

// The watch of nodes may be late, and an eviction can't be undone.
func TestATaintThatTheWatchStillShowsEndsNothing(t *testing.T) {
	inMemory(t, func(w *world) {
		w.taintedNode("a", broken)
		w.runsOn("a", "minute", tolerates(broken.Key, 60))
		w.Server.Inject(fakeapi.Fault{
			Match:       fakeapi.Match{Verb: "watch", Resource: "nodes"},
			DelayEvents: 2 * time.Minute,
		})
		w.evicting()
		require.Empty(w, w.evictedAfter(50*time.Second))
		w.taint("a")
		require.Empty(w, w.evictedAfter(time.Hour))
	})
}

// Each taint is a limit. Of several tolerations of one taint, the first counts: a Pod that would
// leave earlier or later than in Kubernetes surprises its owner.
func TestTheShortestTolerationCounts(t *testing.T) {
	inMemory(t, func(w *world) {
		loud := corev1.Taint{Key: "example.com/loud", Effect: corev1.TaintEffectNoExecute}
		w.taintedNode("a", broken, loud)
		w.runsOn("a", "eight", tolerates(broken.Key, 480), tolerates(loud.Key, 900))
		w.runsOn("a", "half", tolerates(broken.Key, 60), tolerates(loud.Key, 30))
		w.runsOn("a", "one", tolerates(broken.Key, 60))
		w.runsOn("a", "stays", tolerates(broken.Key), tolerates(broken.Key, 90), tolerates(loud.Key))
		w.runsOn("a", "twice", tolerates(broken.Key, 90), tolerates(broken.Key), tolerates(loud.Key))
		w.evicting()
		require.Equal(w, []string{"one"}, w.evictedAfter(28*time.Second), "it does not tolerate the other taint")
		require.Equal(w, []string{"half", "one"}, w.evictedAfter(4*time.Second))
		require.Equal(w, []string{"half", "one"}, w.evictedAfter(56*time.Second))
		require.Equal(w, []string{"half", "one", "twice"}, w.evictedAfter(4*time.Second))
		require.Equal(w, []string{"half", "one", "twice"}, w.evictedAfter(385*time.Second))
		require.Equal(w, []string{"eight", "half", "one", "twice"}, w.evictedAfter(6*time.Second))
		require.Equal(w, []string{"eight", "half", "one", "twice"}, w.evictedAfter(time.Hour))
	})
}

// A controller that is restarted every few minutes would never evict a Pod.
func TestTheTimePassesEvenWhileNoControllerRuns(t *testing.T) {
	inMemory(t, func(w *world) {
		w.taintedNode("a", broken)
		w.runsOn("a", "minute", tolerates(broken.Key, 60))
		stop := w.evicting()
		require.Empty(w, w.evictedAfter(40*time.Second))
		stop()
		require.Empty(w, w.evictedAfter(10*time.Second))
		w.evicting()
		require.Empty(w, w.evictedAfter(0))
		require.Equal(w, []string{"minute"}, w.evictedAfter(11*time.Second))
	})
}

// The node was tainted long before: the Pod would end as soon as it was created.
func TestAPodThatComesLaterHasItsFullTime(t *testing.T) {
	inMemory(t, func(w *world) {
		w.taintedNode("a", broken)
		w.evicting()
		time.Sleep(time.Hour)
		w.runsOn("a", "minute", tolerates(broken.Key, 60))
		require.Empty(w, w.evictedAfter(58*time.Second))
		require.Equal(w, []string{"minute"}, w.evictedAfter(3*time.Second))
	})
}

func TestATaintThatKeepsNewPodsAwayEndsNone(t *testing.T) {
	inMemory(t, func(w *world) {
		w.taintedNode("a", corev1.Taint{Key: "example.com/full", Effect: corev1.TaintEffectNoSchedule})
		w.runsOn("a", "delicate")
		w.evicting()
		require.Empty(w, w.evictedAfter(time.Hour))
		node, err := w.Other.CoreV1().Nodes().Get(w.ctx, "a", metav1.GetOptions{})
		require.NoError(w, err)
		require.Nil(w, node.Spec.Taints[0].TimeAdded, "no time counts from it")
		w.runsOn("a", "tough", tolerates(broken.Key))
		old := corev1.Taint{Key: "example.com/old", Effect: corev1.TaintEffectNoSchedule, TimeAdded: new(metav1.Now())}
		w.taint("a", append(node.Spec.Taints, old, broken)...)
		require.Equal(w, []string{"delicate"}, w.evictedAfter(time.Hour), "of the three taints, one ends Pods")
		node, err = w.Other.CoreV1().Nodes().Get(w.ctx, "a", metav1.GetOptions{})
		require.NoError(w, err)
		require.Nil(w, node.Spec.Taints[0].TimeAdded)
	})
}

// A Job that counts failures leaves this one out.
func TestAnEvictedPodSaysWhyItEnds(t *testing.T) {
	inMemory(t, func(w *world) {
		w.taintedNode("a", broken)
		w.runsOn("a", "delicate")
		w.ready(w.pods()[0])
		stale, err := w.Other.CoreV1().Pods("default").Get(w.ctx, "delicate", metav1.GetOptions{})
		require.NoError(w, err)
		stale.Status.Conditions = append(stale.Status.Conditions,
			corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse})
		_, err = w.Other.CoreV1().Pods("default").UpdateStatus(w.ctx, stale, metav1.UpdateOptions{})
		require.NoError(w, err)
		w.evicting()
		require.Equal(w, []string{"delicate"}, w.evictedAfter(0))
		pod, err := w.Other.CoreV1().Pods("default").Get(w.ctx, "delicate", metav1.GetOptions{})
		require.NoError(w, err)
		require.Len(w, pod.Status.Conditions, 2, "there is one of each type")
		c := pod.Status.Conditions[1]
		require.Equal(w, corev1.DisruptionTarget, c.Type)
		require.Equal(w, corev1.ConditionTrue, c.Status)
		require.Equal(w, "DeletionByTaintManager", c.Reason)
	})
}

// A Pod would stay on the node, come late, or not say why it ends: no other event comes.
func TestAnEvictionIsTriedAgainWhicheverRequestFails(t *testing.T) {
	for _, match := range []fakeapi.Match{
		{Verb: "patch", Resource: "nodes"}, {Verb: "update", Resource: "pods", Subresource: "status"}, toPods("delete"),
	} {
		inMemory(t, func(w *world) {
			w.taintedNode("a", broken)
			w.runsOn("a", "minute", tolerates(broken.Key, 60))
			w.Server.Inject(fakeapi.Fault{Match: match, Times: 2, Status: fakeapi.Unavailable()})
			w.evicting()
			require.Empty(w, w.evictedAfter(58*time.Second))
			require.Equal(w, []string{"minute"}, w.evictedAfter(4*time.Second), "%s of %s has failed", match.Verb, match.Resource)
			pod, err := w.Other.CoreV1().Pods("default").Get(w.ctx, "minute", metav1.GetOptions{})
			require.NoError(w, err)
			require.Len(w, pod.Status.Conditions, 1, "it says so once")
		})
	}
}

// An error that isn't returned isn't retried. A node without a taint needs no list of
// Pods.
func TestAnEvictionThatCannotReadIsAFailure(t *testing.T) {
	for _, resource := range []string{"nodes", "pods"} {
		inMemory(t, func(w *world) {
			w.taintedNode("a", broken)
			w.taintedNode("healthy")
			w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list", Resource: resource}, Hang: true})
			m := mini.NewManager(w.Cluster)
			c, err := mini.NewTaintEvictionController(m)
			require.NoError(w, err)
			w.run(m.Cache.Run)
			require.Error(w, w.once(c, mini.Request{Name: "a"}), "there are no %s in the cache", resource)
			if resource == "pods" {
				require.NoError(w, w.once(c, mini.Request{Name: "healthy"}))
			}
		})
	}
}

// One node whose API requests are slow must not keep the others waiting, and more workers would send
// more requests at once.
func TestFiveNodesAreEmptiedAtTheSameTime(t *testing.T) {
	inMemory(t, func(w *world) {
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "patch", Resource: "nodes"}, Delay: time.Second})
		w.evicting()
		for i := range 7 {
			w.taintedNode(strconv.Itoa(i), broken)
		}
		time.Sleep(time.Minute)
		require.Equal(w, 5, w.atOnce("tainteviction"))
	})
}

// Without one of its watches, the controller would miss what it has to do, and no error
// would say so.
func TestTheControllerOfTaintsNeedsBothKinds(t *testing.T) {
	inMemory(t, func(w *world) {
		node, pod := &corev1.Node{}, &corev1.Pod{}
		_, err := mini.NewTaintEvictionController(w.withKinds(node, pod))
		require.NoError(w, err)
		for _, kind := range []runtime.Object{node, pod} {
			_, err := mini.NewTaintEvictionController(w.withKinds(kind))
			require.Error(w, err, "the scheme has one of two kinds")
		}
	})
}
