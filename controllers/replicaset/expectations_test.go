package replicaset

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/interceptor"
)

var (
	webSet = client.ObjectKey{Namespace: "default", Name: "web"}
	apiSet = client.ObjectKey{Namespace: "default", Name: "api"}
)

// If the controller forgets an unconfirmed write, it creates a Pod twice; if it never forgets one,
// it asks the API server forever.
func TestADoubtStaysUntilItIsSettled(t *testing.T) {
	var d unconfirmedWrites
	d.mayHaveCreated(webSet, "a")
	d.mayHaveCreated(webSet, "b")
	d.mayHaveDeleted(webSet, "c", "1")
	d.mayHaveDeleted(apiSet, "x", "2")
	for range 2 {
		created, deleted := d.open(webSet)
		require.Equal(t, []string{"a", "b"}, created)
		require.Equal(t, map[string]types.UID{"c": "1"}, deleted)
	}
	d.settled(webSet, "a", false)
	d.settled(webSet, "c", false)
	created, deleted := d.open(webSet)
	require.Equal(t, []string{"b"}, created)
	require.Empty(t, deleted)
	d.settled(webSet, "b", false)
	require.NotContains(t, d.of, webSet,
		"nothing is kept for a ReplicaSet without unconfirmed writes")
	_, deleted = d.open(apiSet)
	require.Equal(t, map[string]types.UID{"x": "2"}, deleted)
	d.forget(apiSet)
	require.Empty(t, d.of)
	created, deleted = d.open(webSet)
	require.Empty(t, created)
	require.Empty(t, deleted)
	require.Empty(t, d.of)
}

// With a new name, the old request would create a Pod too many if it arrived late.
func TestANameThatIsFreeIsUsedOnceAndInTheNextLook(t *testing.T) {
	var d unconfirmedWrites
	none := func() {
		name, ok := d.takeFree(webSet)
		require.False(t, ok)
		require.Empty(t, name)
	}
	none()
	for _, name := range []string{"a", "b"} {
		d.mayHaveCreated(webSet, name)
		d.settled(webSet, name, true)
	}
	for _, want := range []string{"a", "b"} {
		name, ok := d.takeFree(webSet)
		require.True(t, ok)
		require.Equal(t, want, name)
	}
	none()
	d.settled(webSet, "c", true)
	d.open(webSet)
	none()
	require.Empty(t, d.of)
}

// A reconcile that does not wait for its own writes counts too few Pods. One that always waits is
// slow.
func TestAWriteIsUnseenUntilItIsForgotten(t *testing.T) {
	var u expectations
	require.False(t, u.has(webSet))
	u.mark(webSet)
	u.mark(apiSet)
	require.True(t, u.has(webSet))
	u.forget(webSet)
	require.False(t, u.has(webSet))
	require.True(t, u.has(apiSet))
	u.forget(apiSet)
	require.Empty(t, u.sets, "nothing is kept")
}

// waits is a cache that records for what the controller waits.
type waits struct {
	patient
	notes []string
	err   error
}

func (w *waits) WaitFor(
	_ context.Context, _ client.Object, key client.ObjectKey, version string,
) error {
	w.notes = append(w.notes, fmt.Sprint(key.Name, " since ", version))
	return w.err
}

func (w *waits) WaitForEnd(
	_ context.Context, _ client.Object, key client.ObjectKey, isOld func(client.Object) bool,
) error {
	old, other := &corev1.Pod{}, &corev1.Pod{}
	old.UID, other.UID = "a", "other"
	w.notes = append(w.notes, fmt.Sprint(key.Name, " gone: ", isOld(old), ", another one: ",
		isOld(other)))
	return w.err
}

// If the controller waits for too little, the next reconcile counts too few Pods or too many; if it
// waits for too much, it waits forever.
func TestWhatALookWaitsForIfAWriteIsInDoubt(t *testing.T) {
	broken := errors.New("the connection broke")
	is, another := there("a"), there("b")
	is.ResourceVersion, another.Name = "70", is.Name
	unreachable := interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey,
		client.Object, ...client.GetOption) error {
		return broken
	}}
	for _, c := range []struct {
		name    string
		deleted bool // or created
		there   *corev1.Pod
		funcs   interceptor.Funcs
		waiting error
		waits   []string
		isFree  bool
		fails   bool
	}{
		{name: "it was created", there: is, waits: []string{"pod-a since 70"}},
		{name: "it was not created", isFree: true},
		{name: "nobody knows whether it was created", funcs: unreachable, fails: true},
		{
			name: "it was created, and the cache does not show it", there: is, waiting: broken,
			waits: []string{"pod-a since 70"}, fails: true,
		},
		{
			name: "it was deleted", deleted: true,
			waits: []string{"pod-a gone: true, another one: false"},
		},
		{
			name: "it was deleted, and another one has its name", deleted: true, there: another,
			waits: []string{"pod-a gone: true, another one: false"},
		},
		{
			name: "it is going, or was not deleted", deleted: true, there: is,
			waits: []string{"pod-a since 70"},
		},
		{
			name: "nobody knows whether it was deleted", deleted: true, funcs: unreachable,
			fails: true,
		},
		{
			name: "it was deleted, and the cache shows it", deleted: true, waiting: broken,
			waits: []string{"pod-a gone: true, another one: false"}, fails: true,
		},
	} {
		r, cache := in(c.funcs), &waits{err: c.waiting}
		if c.there != nil {
			r = in(c.funcs, c.there.DeepCopy())
		}
		r.waiter = cache
		if c.deleted {
			r.unconfirmed.mayHaveDeleted(webSet, "pod-a", "a")
		} else {
			r.unconfirmed.mayHaveCreated(webSet, "pod-a")
		}
		err := r.settle(t.Context(), webSet)
		require.Equal(t, c.fails, errors.Is(err, broken), "%s: %v", c.name, err)
		require.Equal(t, c.waits, cache.notes, c.name)
		_, isFree := r.unconfirmed.takeFree(webSet)
		require.Equal(t, c.isFree, isFree, c.name)
		created, deleted := r.unconfirmed.open(webSet)
		require.Equal(t, c.fails, len(created)+len(deleted) == 1,
			"%s: what is not known stays unconfirmed", c.name)
	}
}

// loses makes the server carry out one request and lose its answer. After that, reads from the
// server fail, too.
func (w *world) loses(match fakeapi.Match) {
	w.Server.Inject(fakeapi.Fault{Match: match, Times: 1, LoseResponse: true})
	w.Server.Inject(fakeapi.Fault{Match: getsOfPods, Times: 3, Status: fakeapi.Unavailable()})
}

var getsOfPods = fakeapi.Match{UserAgent: agent, Verb: "get", Resource: "pods"}

// A controller that gave up asking would count in a late cache, and do everything twice.
func TestTheServerIsAskedUntilItAnswersAndThenNoMore(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Server.Inject(fakeapi.Fault{Match: watches, DelayEvents: 2 * time.Second})
		w.loses(createsOfPods)
		rs := w.set(4)
		w.run()
		require.Len(t, w.Pods(), 4)
		require.Equal(t, 4, w.Wrote()["create pods"])

		w.loses(deletesOfPods)
		w.scale(rs, 3)
		require.Len(t, w.Pods(), 3)
		require.Equal(t, 1, w.Wrote()["delete pods"])

		for _, pod := range w.Pods() {
			w.starts(pod, "n1")
		}
		w.Settle()
		w.loses(deletesOfPods)
		w.scale(rs, 2)
		require.Equal(t, []int32{2, 1},
			[]int32{w.status(rs).Replicas, *w.status(rs).TerminatingReplicas},
			"a Pod with a node takes its time")
		require.Equal(t, 1, w.Wrote()["delete pods"])

		w.scale(rs, 5)
		require.Empty(t, w.Server.Requests(getsOfPods), "nothing is unconfirmed any more")
	})
}

// The request may still be on its way. If it arrives after all, its Pod must not exist under
// another name already.
func TestAPodThatWasNotMadeIsMadeUnderTheSameName(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.suffix = counter()
		w.Server.Inject(fakeapi.Fault{Match: createsOfPods, Times: 1, Status: fakeapi.Timeout()})
		w.Server.Inject(fakeapi.Fault{Match: getsOfPods, Times: 3, Status: fakeapi.Unavailable()})
		w.set(1)
		w.run()
		require.Equal(t, []string{"web-00001"}, names(w.Pods()))
	})
}

// A list waits for all writes of the controller in its namespace, those for other ReplicaSets
// included. If that took long, one busy namespace would be slower than many quiet ones.
func TestReplicaSetsOfOneNamespaceHardlyWaitForEachOther(t *testing.T) {
	took := map[int]time.Duration{}
	for _, namespaces := range []int{1, 40} {
		inWorld(t, func(t *testing.T, w *world) {
			for i := range namespaces {
				w.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("shop-",
					i)}})
			}
			for i := range 40 {
				w.set(3, func(rs *appsv1.ReplicaSet) {
					rs.Name, rs.Namespace = fmt.Sprint("web-", i), fmt.Sprint("shop-", i%namespaces)
					rs.Spec.Selector.MatchLabels = map[string]string{"app": rs.Name}
					rs.Spec.Template.Labels = rs.Spec.Selector.MatchLabels
				})
			}
			for _, verb := range []string{"create", "patch"} {
				w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: agent, Verb: verb},
					Delay: 10 * time.Millisecond})
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
	require.Less(t, took[1], took[40]*3/2,
		"with a wait in each list, it is more than twice as long")
}

func controlled(pod *corev1.Pod) {
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(newReplicaSet(1), kind)}
}

// If a Pod counted twice, the controller would delete another one.
func TestAPodThatHasLostItsOwnerBetweenTwoListsCountsOnce(t *testing.T) {
	a, b, c := settledPod("a", controlled), settledPod("b", controlled), settledPod("c")
	orphan := settledPod("b")
	require.Equal(t, []*corev1.Pod{a, orphan, c},
		together([]*corev1.Pod{a, b}, []*corev1.Pod{orphan, c}))
	require.Equal(t, []*corev1.Pod{a, b}, together([]*corev1.Pod{a, b}, nil))
}
