package replicaset

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/controllers/internal/claim"
	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
	"github.com/loopwright/loopwright/manager/client/interceptor"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/recorder/events"
)

var webRequest = reconcile.Request{NamespacedName: webSet}

// in returns a reconciler with a fake client that has these objects.
func in(funcs interceptor.Funcs, objects ...client.Object) *reconciler {
	index := claim.Index{Kind: kind.GroupKind()}
	builder := fake.NewClientBuilder().WithInterceptorFuncs(funcs).WithObjects(objects...)
	_ = index.Add(context.Background(), simulation.IndexerOf(builder), &corev1.Pod{}) // cannot fail
	c := builder.Build()
	return &reconciler{
		client: c, cached: c, live: c, waiter: patient{}, index: index, suffix: counter(),
		burst: defaultBurst, events: events.NewFakeRecorder(100),
	}
}

// patient is a cache that is never late.
type patient struct{}

func (patient) Holds(client.Object) bool { return false }
func (patient) WaitFor(context.Context, client.Object, client.ObjectKey, string) error {
	return nil
}
func (patient) WaitForEnd(
	context.Context, client.Object, client.ObjectKey, func(client.Object) bool,
) error {
	return nil
}

func creating(
	err error,
) func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
	return func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
		return err
	}
}

// The log has to show both errors.
func TestALookThatFailsAfterAFailureIsReturnedWithIt(t *testing.T) {
	refused, gone := apierrors.NewForbidden(corev1.Resource("pods"), "a", nil),
		errors.New("the cache has ended")
	lists := 0
	r := in(interceptor.Funcs{
		Create: creating(refused),
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList,
			opts ...client.ListOption) error {
			if lists++; lists > 2 {
				return gone
			}
			return c.List(ctx, list, opts...)
		},
	}, newReplicaSet(2))
	_, err := r.Reconcile(t.Context(), webRequest)
	require.ErrorIs(t, err, refused)
	require.ErrorIs(t, err, gone)
}

// The controller must not treat an invalid selector as one that selects everything or nothing.
func TestASelectorThatCannotBeReadIsAnError(t *testing.T) {
	rs := newReplicaSet(2)
	rs.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{
		{Key: "app", Operator: "Near"},
	}
	r := in(interceptor.Funcs{Create: creating(errors.New("nobody asked for it"))}, rs)
	_, err := r.Reconcile(t.Context(), webRequest)
	require.ErrorIs(t, err, reconcile.TerminalError(nil), "another try would not help")
	require.ErrorContains(t, err, "the selector: ")
}

// What is remembered of a ReplicaSet that is gone would be in memory forever.
func TestAReplicaSetThatIsGoneIsForgotten(t *testing.T) {
	r := in(interceptor.Funcs{})
	r.unconfirmed.mayHaveCreated(webSet, "web-x")
	r.unconfirmed.mayHaveDeleted(webSet, "web-y", "y")
	r.expectations.mark(webSet)
	_, err := r.Reconcile(t.Context(), webRequest)
	require.NoError(t, err)
	require.Empty(t, r.unconfirmed.of)
	require.Empty(t, r.expectations.sets)
}

func TestALookCopiesNothingThatTheCacheHas(t *testing.T) {
	owner := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d"}}
	rs := newReplicaSet(1)
	rs.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind("Deployment")),
	}
	_, err := in(simulation.Sharing(t), rs, there("a"), there("b")).Reconcile(t.Context(),
		webRequest)
	require.NoError(t, err)
}

// A cache lists in any order; two runs with the same input should make the same writes.
func TestOrphansAreAdoptedInTheOrderOfTheirNames(t *testing.T) {
	var adopted []string
	rs := newReplicaSet(3)
	pods := []*corev1.Pod{there("b"), there("c"), there("a")}
	objects := []client.Object{rs}
	for _, pod := range pods {
		pod.OwnerReferences = nil
		objects = append(objects, pod)
	}
	r := in(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch,
			opts ...client.PatchOption) error {
			adopted = append(adopted, o.GetName())
			return c.Patch(ctx, o, patch, opts...)
		},
	}, objects...)
	seen, err := r.claim(t.Context(), rs, pods, true)
	require.NoError(t, err)
	require.Equal(t, []string{"pod-a", "pod-b", "pod-c"}, adopted)
	require.Equal(t, adopted, names(seen.active))
}

// The API server sets the default 1; an object from a test, or from an old server, may lack it.
func TestHowManyPodsAreMissing(t *testing.T) {
	going := newReplicaSet(3)
	going.DeletionTimestamp = new(metav1.NewTime(noon))
	unsaid := newReplicaSet(0)
	unsaid.Spec.Replicas = nil
	had := func(n int32) *appsv1.ReplicaSet {
		rs := newReplicaSet(2)
		rs.Status.Replicas = n
		return rs
	}
	one := []*corev1.Pod{settledPod("a")}
	for _, c := range []struct {
		name    string
		sight   sight
		missing int
		hasLost bool
	}{
		{"one of two", sight{rs: newReplicaSet(2), active: one}, 1, false},
		{"one too many", sight{rs: newReplicaSet(0), active: one}, -1, false},
		{"nobody says how many", sight{rs: unsaid}, 1, false},
		{"it is being deleted", sight{rs: going}, 0, false},
		{"one is gone", sight{rs: had(2), active: one}, 1, true},
		{"one was there", sight{rs: had(1), active: one}, 1, false},
		{"both are gone", sight{rs: had(2)}, 2, true},
	} {
		require.Equal(t, c.missing, c.sight.missing(), c.name)
		require.Equal(t, c.hasLost, c.sight.hasLost(), c.name)
	}
	lost := had(2)
	lost.Spec.Replicas = new(int32(1))
	require.False(t, (&sight{rs: lost, active: one}).hasLost(),
		"it was scaled down, and none is missing")
}

// It is no failure if another client has deleted the Pod, or has replaced it by one of the same
// name.
func TestADeletionOfAPodThatIsGoneIsInDoubtAndNoFailure(t *testing.T) {
	rs, pod := newReplicaSet(0), there("a")
	another := there("b")
	another.Name = pod.Name
	forbidden := interceptor.Funcs{Delete: func(context.Context, client.WithWatch, client.Object,
		...client.DeleteOption) error {
		return apierrors.NewForbidden(corev1.Resource("pods"), "a", nil)
	}}
	for _, c := range []struct {
		name        string
		funcs       interceptor.Funcs
		there       []client.Object
		unconfirmed map[string]types.UID
		note        string
		fails       bool
	}{
		{
			"it is there", interceptor.Funcs{}, []client.Object{pod}, map[string]types.UID{},
			"Normal SuccessfulDelete Deleted pod: pod-a", false,
		},
		{"it is gone", interceptor.Funcs{}, nil, map[string]types.UID{"pod-a": "a"}, "", false},
		{
			"another one has its name", interceptor.Funcs{}, []client.Object{another},
			map[string]types.UID{"pod-a": "a"}, "", false,
		},
		{
			"it may not be deleted", forbidden, []client.Object{pod}, map[string]types.UID{},
			`Warning FailedDelete Error deleting: pods "a" is forbidden: <nil>`, true,
		},
	} {
		r := in(c.funcs, c.there...)
		err := r.deletePod(t.Context(), rs, pod)
		require.Equal(t, c.fails, err != nil, "%s: %v", c.name, err)
		_, deleted := r.unconfirmed.open(webSet)
		require.Equal(t, c.unconfirmed, deleted, c.name)
		notes := r.events.(*events.FakeRecorder).Events
		close(notes)
		require.Equal(t, c.note, <-notes, c.name)
	}
}

// Otherwise each reconcile would write.
func TestAServerThatDropsTheTerminatingReplicasIsWrittenToOnce(t *testing.T) {
	writes := 0
	drops := func(o client.Object) {
		if rs, ok := o.(*appsv1.ReplicaSet); ok {
			rs.Status.TerminatingReplicas = nil
		}
	}
	r := in(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			defer drops(o)
			return c.Get(ctx, key, o, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, o client.Object,
			patch client.Patch, opts ...client.SubResourcePatchOption) error {
			defer drops(o)
			writes++
			return c.SubResource(name).Patch(ctx, o, patch, opts...)
		},
	}, newReplicaSet(1), there("a"))
	for range 3 {
		_, err := r.Reconcile(t.Context(), webRequest)
		require.NoError(t, err)
	}
	require.Equal(t, 1, writes)
}

// It is no failure if the ReplicaSet is deleted before its status is written.
func TestAReplicaSetThatGoesWhileItsStatusIsWrittenIsNoFailure(t *testing.T) {
	r := in(interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch,
			...client.SubResourcePatchOption) error {
			return apierrors.NewNotFound(appsv1.Resource("replicasets"), "web")
		},
	}, newReplicaSet(1), there("a"))
	result, err := r.Reconcile(t.Context(), webRequest)
	require.NoError(t, err)
	require.Zero(t, result)
}

// listsOf counts the lists that go through a client.
func listsOf(to client.Client, lists *int) client.Client {
	return interceptor.NewClient(to.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList,
			opts ...client.ListOption) error {
			*lists++
			return c.List(ctx, list, opts...)
		},
	})
}

// Most reconciles have nothing to adopt or release, and need not wait until the cache has the last
// writes.
func TestALookThatWouldChangeAnOwnerIsRepeatedAndWaits(t *testing.T) {
	orphan, strayed, finished, going, foreign := there("a"), there("a"), there("a"), there("a"),
		there("a")
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
		require.Equal(t, []int{c.waits, c.active, c.terminating},
			[]int{waits, len(seen.active), len(seen.terminating)}, c.what)
		require.Equal(t, c.waits > 0, r.expectations.has(webSet),
			"%s: the next look waits for what this one has written", c.what)
	}
}

// Without that, a condition would stay after its reason has gone.
func TestAStatusWithoutConditionsDeletesThem(t *testing.T) {
	data, err := statusPatch("a", appsv1.ReplicaSetStatus{}).Data(nil)
	require.NoError(t, err)
	require.Contains(t, string(data), `"conditions":null`)
	data, err = statusPatch("a",
		appsv1.ReplicaSetStatus{Conditions: []appsv1.ReplicaSetCondition{{Type: "Odd"}}}).Data(nil)
	require.NoError(t, err)
	require.Contains(t, string(data), `"type":"Odd"`)
}

// No event reports that a Pod has been ready for long enough.
func TestAPodThatIsNotAvailableYetIsLookedAtAgain(t *testing.T) {
	rs, pod := newReplicaSet(1), there("a")
	rs.Spec.MinReadySeconds = 3600
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
	}
	r := in(interceptor.Funcs{}, rs, pod)
	for _, what := range []string{"the status is written", "it is written already"} {
		result, err := r.Reconcile(t.Context(), webRequest)
		require.NoError(t, err, what)
		require.Greater(t, result.RequeueAfter, time.Second, what)
		require.LessOrEqual(t, result.RequeueAfter, time.Hour+time.Second, what)
	}
}
