package deployment

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/controllers/internal/claim"
	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
	"github.com/loopwright/loopwright/manager/client/interceptor"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/recorder/events"
)

var webRequest = reconcile.Request{
	NamespacedName: client.ObjectKey{Namespace: "default", Name: "web"},
}

// in returns a reconciler with a fake client that has these objects.
func in(funcs interceptor.Funcs, objects ...client.Object) *reconciler {
	index := claim.Index{Kind: kind.GroupKind()}
	builder := fake.NewClientBuilder().WithInterceptorFuncs(funcs).WithObjects(objects...)
	// cannot fail
	_ = index.Add(context.Background(), simulation.IndexerOf(builder), &appsv1.ReplicaSet{})
	c := builder.Build()
	return &reconciler{client: c, live: c, index: index, events: events.NewFakeRecorder(100)}
}

func newSync(r *reconciler, d *appsv1.Deployment) *deploymentSync {
	return &deploymentSync{reconciler: r, rollout: &rollout{d: d}, now: noon}
}

// A patch with fewer tests would overwrite another client's decision; one with more would fail
// without need.
func TestAPatchHasWhatDiffersAndNothingElse(t *testing.T) {
	before := setOf("web:1", 3, 3, 1)
	before.Annotations = map[string]string{"note/a~b": "yes", "same": "yes"}
	before.Generation, before.ResourceVersion = 7, "70"
	require.Equal(t, []operation{{"test", "/metadata/uid", before.UID},
		{"test", "/metadata/generation", int64(7)}}, stillIs(before))
	require.Empty(t, difference(before, before.DeepCopy()))

	after := before.DeepCopy()
	after.Spec.Replicas, after.Spec.MinReadySeconds = new(int32(0)), 5
	after.Annotations = map[string]string{"note/a~b": "no", "new": "", "same": "yes"}
	require.Equal(t, []operation{
		{"add", "/spec/replicas", int32(0)}, {"add", "/spec/minReadySeconds", int32(5)},
		{"add", "/metadata/annotations/new", ""}, {"add", "/metadata/annotations/note~1a~0b", "no"},
	}, difference(before, after))
	after.Annotations = nil
	require.Len(t, difference(before, after), 2, "no annotation is taken away")

	before.Annotations, after.Annotations = nil, map[string]string{"new": "yes"}
	require.Equal(t, operation{"test", "/metadata/resourceVersion", "70"}, stillIs(before)[2],
		"all annotations are written, so there must still be none")
	require.Equal(t, operation{"add", "/metadata/annotations", after.Annotations},
		difference(before, after)[2])
	require.Empty(t, difference(before, before.DeepCopy()))
}

// The ReplicaSet controller deletes Pods first that aren't available, so how many may go depends on how
// many are available. If that was another number when it was read, the decision is out of date.
func TestAReplicaSetDoesNotShrinkIfOtherPodsAreAvailable(t *testing.T) {
	for _, c := range []struct {
		read, now, to int32
		want          error
	}{
		{2, 2, 3, nil}, {2, 3, 3, errStale}, {3, 2, 3, errStale}, {0, 0, 3, nil}, {0, 1, 3, errStale},
		{1, 0, 3, errStale}, {2, 3, 5, nil},
	} {
		read := setOf("web:1", 4, 4, 1, func(rs *appsv1.ReplicaSet) { rs.Status.AvailableReplicas = c.read })
		r := in(interceptor.Funcs{}, had(4), read.DeepCopy())
		require.NoError(t, r.client.Get(t.Context(), client.ObjectKeyFromObject(read), read))
		now := read.DeepCopy()
		now.Status.AvailableReplicas = c.now
		require.NoError(t, r.client.Status().Update(t.Context(), now))
		s := newSync(r, had(4))
		s.newRS = read
		require.Equal(t, c.want, s.resize(t.Context(), read, c.to, false), "%+v", c)
		size := int32(4)
		if c.want == nil {
			size = c.to
		}
		require.NoError(t, r.client.Get(t.Context(), client.ObjectKeyFromObject(read), read))
		require.Equal(t, size, *read.Spec.Replicas, "%+v", c)
	}
}

// A patch that's out of date is decided again at once. One that a webhook doesn't like would be refused
// at once again, so it has to wait, even if the ReplicaSet has changed meanwhile.
func TestAPatchThatIsForbiddenIsNotDecidedAgainAtOnce(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "replicasets"}, "web-1", errors.New("no"))
	r := in(interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return forbidden
		},
	}, had(4), setOf("web:1", 4, 4, 1))
	read := setOf("web:1", 4, 4, 1)
	require.NoError(t, r.client.Get(t.Context(), client.ObjectKeyFromObject(read), read))
	now := read.DeepCopy()
	now.Status.AvailableReplicas--
	require.NoError(t, r.client.Status().Update(t.Context(), now))
	s := newSync(r, had(4))
	s.newRS = read
	err := s.resize(t.Context(), read, 3, false)
	require.ErrorIs(t, err, forbidden)
	require.NotErrorIs(t, err, errStale)
}

func TestWhoMayOwnAReplicaSetThatIsInTheWay(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*appsv1.ReplicaSet)
		want   bool
	}{
		{"its own", func(*appsv1.ReplicaSet) {}, true},
		{"that of an older one of this name", func(rs *appsv1.ReplicaSet) {
			rs.OwnerReferences[0].UID = "older"
		}, false},
		{"an orphan", func(rs *appsv1.ReplicaSet) { rs.OwnerReferences = nil }, true},
		{"an orphan with other labels", func(rs *appsv1.ReplicaSet) {
			rs.OwnerReferences, rs.Labels = nil, nil
		}, false},
		{"an orphan that is about to go", func(rs *appsv1.ReplicaSet) {
			rs.OwnerReferences, rs.DeletionTimestamp = nil, new(metav1.NewTime(noon))
		}, false},
	} {
		t.Log(c.name)
		d, rs := asStored(t, had(2)), setOf("web:1", 2, 2, 1)
		c.change(rs)
		require.Equal(t, c.want, (&deploymentSync{rollout: &rollout{d: d}}).mayOwn(rs))
		if rs.DeletionTimestamp != nil {
			continue
		}
		rs.Name = "in-the-way"
		r := in(interceptor.Funcs{}, d, rs)
		s := newSync(r, d)
		require.ErrorIs(t, s.collide(t.Context(), "in-the-way"), errStale)
		require.NoError(t, r.client.Get(t.Context(), webRequest.NamespacedName, d))
		require.Equal(t, !c.want, d.Status.CollisionCount != nil, "the next one has another name")
		require.Equal(t, c.want, len(r.unconfirmed.open(webRequest.NamespacedName)) == 1,
			"the cache is late")
	}
	d := asStored(t, had(2))
	require.False(t, (&deploymentSync{rollout: &rollout{d: d}}).mayOwn(&appsv1.ReplicaSet{}))
	s := newSync(in(interceptor.Funcs{}, d), d)
	require.ErrorIs(t, s.collide(t.Context(), "gone-meanwhile"), errStale)
	require.Empty(t, s.unconfirmed.of)
	d.Status.CollisionCount = new(int32(4))
	rs := setOf("web:2", 1, 1, 1)
	s = newSync(in(interceptor.Funcs{}, d, rs), d)
	require.ErrorIs(t, s.collide(t.Context(), rs.Name), errStale)
	require.NoError(t, s.client.Get(t.Context(), webRequest.NamespacedName, d))
	require.Equal(t, int32(5), *d.Status.CollisionCount, "one more than there were")
}

// The log has to show both errors.
func TestAFailureThatCannotBeReportedIsReturnedWithTheOther(t *testing.T) {
	full, gone := errors.New("the quota is used up"), errors.New("the connection broke")
	fails := interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object,
			...client.CreateOption) error {
			return full
		},
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch,
			...client.SubResourcePatchOption) error {
			return gone
		},
	}
	_, err := in(fails, newWeb(2)).Reconcile(t.Context(), webRequest)
	require.ErrorIs(t, err, full)
	require.ErrorIs(t, err, gone)
	none := func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = new(int32(2147483647)) }
	_, err = in(fails, newWeb(2, none)).Reconcile(t.Context(), webRequest)
	require.ErrorIs(t, err, full)
	require.NotErrorIs(t, err, gone, "nobody wants to know about progress")
}

// waits is a cache that records for what the controller waits.
type waits struct {
	client.WriteWaiter
	notes []string
	err   error
}

func (w *waits) WaitFor(
	_ context.Context, _ client.Object, key client.ObjectKey, version string,
) error {
	w.notes = append(w.notes, key.Name+" since "+version)
	return w.err
}

func (w *waits) WaitForEnd(
	_ context.Context, o client.Object, key client.ObjectKey, isOld func(client.Object) bool,
) error {
	w.notes = append(w.notes, fmt.Sprint(key.Name, " gone: ", isOld(o)))
	return w.err
}

// If the controller waits for too little, the next reconcile decides from an outdated state; if it
// waits for too much, it waits forever.
func TestWhatALookWaitsForIfAWriteIsInDoubt(t *testing.T) {
	broken := errors.New("the connection broke")
	is := setOf("web:1", 2, 2, 1)
	is.Name, is.ResourceVersion = "web-a", "70"
	unreachable := interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey,
		client.Object, ...client.GetOption) error {
		return broken
	}}
	for _, c := range []struct {
		name    string
		there   []client.Object
		funcs   interceptor.Funcs
		waiting error
		waits   []string
		fails   bool
	}{
		{
			name: "they are there or not", there: []client.Object{is},
			waits: []string{"web-a since 70", "web-b gone: true"},
		},
		{name: "nobody knows", there: []client.Object{is}, funcs: unreachable, fails: true},
		{
			name: "the cache does not show it", there: []client.Object{is}, waiting: broken,
			waits: []string{"web-a since 70"}, fails: true,
		},
		{
			name: "the cache still shows it", waiting: broken, waits: []string{"web-a gone: true"},
			fails: true,
		},
	} {
		r, cache := in(c.funcs, c.there...), &waits{err: c.waiting}
		r.waiter = cache
		r.unconfirmed.add(webRequest.NamespacedName, "web-b")
		r.unconfirmed.add(webRequest.NamespacedName, "web-a")
		err := r.settle(t.Context(), webRequest.NamespacedName)
		require.Equal(t, c.fails, errors.Is(err, broken), "%s: %v", c.name, err)
		require.Equal(t, c.waits, cache.notes, c.name)
		require.Equal(t, c.fails, len(r.unconfirmed.open(webRequest.NamespacedName)) == 2,
			"%s: what is not known stays unconfirmed", c.name)
	}
}

// With an unknown strategy or an invalid selector, the controller must do nothing.
func TestADeploymentThatCannotBeUnderstoodIsAnError(t *testing.T) {
	strange := had(2, func(d *appsv1.Deployment) { d.Spec.Strategy.Type = "Sideways" })
	require.ErrorContains(t, (&deploymentSync{rollout: &rollout{d: strange}}).roll(t.Context()),
		`unknown strategy "Sideways"`)
	unreadable := had(2, func(d *appsv1.Deployment) {
		d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{
			{Key: "app", Operator: "Near"},
		}
	})
	_, err := in(interceptor.Funcs{}, unreadable).Reconcile(t.Context(), webRequest)
	require.ErrorIs(t, err, reconcile.TerminalError(nil), "another try would not help")
	require.ErrorContains(t, err, "the selector: ")
}

func TestWhichSelectorsSelectAll(t *testing.T) {
	for _, c := range []struct {
		selector *metav1.LabelSelector
		want     bool
	}{
		{nil, false}, {&metav1.LabelSelector{}, true},
		{&metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}, false},
		{
			&metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: "a", Operator: metav1.LabelSelectorOpExists},
				},
			},
			false,
		},
		{
			&metav1.LabelSelector{
				MatchLabels: map[string]string{"a": "b"},
				MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: "a", Operator: metav1.LabelSelectorOpExists},
				},
			},
			false,
		},
	} {
		require.Equal(t, c.want,
			selectsAll(&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Selector: c.selector}}), "%v",
			c.selector)
	}
}

// Recreate must not start new Pods before the old ones have ended.
func TestWhichPodsOfAReplicaSetStillRun(t *testing.T) {
	rs := setOf("web:1", 0, 2, 1, uncounted)
	other := setOf("web:2", 0, 2, 1)
	pod := func(of *appsv1.ReplicaSet, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "pod", Labels: rs.Labels,
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(of, appsv1.SchemeGroupVersion.WithKind("ReplicaSet")),
			},
		}, Spec: template("web:1").Spec, Status: corev1.PodStatus{Phase: phase}}
	}
	for _, c := range []struct {
		pod  *corev1.Pod
		want bool
	}{
		{pod(rs, corev1.PodRunning), true}, {pod(rs, corev1.PodPending), true},
		{pod(rs, corev1.PodSucceeded), false}, {pod(rs, corev1.PodFailed), false},
		{pod(other, corev1.PodRunning), false},
	} {
		s := newSync(in(interceptor.Funcs{}, c.pod), had(2))
		runs, err := s.mayRun(t.Context(), rs)
		require.NoError(t, err)
		require.Equal(t, []bool{c.want, c.want}, []bool{runs, s.again > 0}, "%s of %s",
			c.pod.Status.Phase, c.pod.OwnerReferences[0].Name)
	}
	rs.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{
		{Key: "app", Operator: "Near"},
	}
	runs, err := (&deploymentSync{}).mayRun(t.Context(), rs)
	require.ErrorContains(t, err, "the selector of the ReplicaSet")
	require.False(t, runs)
}

// Otherwise each reconcile would write.
func TestAServerThatDropsTheTerminatingReplicasIsWrittenToOnce(t *testing.T) {
	writes := 0
	drops := func(o client.Object) {
		if d, ok := o.(*appsv1.Deployment); ok {
			d.Status.TerminatingReplicas = nil
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
	}, had(2), setOf("web:1", 2, 2, 1))
	for range 3 {
		_, err := r.Reconcile(t.Context(), webRequest)
		require.NoError(t, err)
	}
	require.Equal(t, 1, writes)
}

// The API server refuses new objects in a namespace that is being deleted, and a name may be taken.
// A user can do nothing about either, so neither is reported as a failure.
func TestARefusalThatIsNobodysFaultEndsTheTurn(t *testing.T) {
	for _, c := range []struct {
		err  error
		want reconcile.Result
	}{
		{
			&apierrors.StatusError{
				ErrStatus: metav1.Status{
					Code: 403,
					Details: &metav1.StatusDetails{
						Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}},
					},
				},
			},
			reconcile.Result{},
		},
		{
			apierrors.NewAlreadyExists(appsv1.Resource("replicasets"), "web"),
			reconcile.Result{RequeueAfter: 1},
		},
	} {
		r := in(interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object,
			...client.CreateOption) error {
			return c.err
		}}, had(2))
		result, err := r.Reconcile(t.Context(), webRequest)
		require.NoError(t, err)
		require.Equal(t, c.want, result)
		require.Empty(t, r.events.(*events.FakeRecorder).Events)
	}
}

func TestALookCopiesNothingThatTheCacheHas(t *testing.T) {
	_, err := in(simulation.Sharing(t), had(2), setOf("web:1", 2, 2, 1)).Reconcile(t.Context(),
		webRequest)
	require.NoError(t, err)
}

func TestADeploymentOfNoPodsIsMadeInSilenceAndWithoutAQuestion(t *testing.T) {
	questions := 0
	r := in(interceptor.Funcs{}, newWeb(0))
	r.live = interceptor.NewClient(r.client.(client.WithWatch), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object,
			...client.GetOption) error {
			questions++
			return nil
		},
	})
	_, err := r.Reconcile(t.Context(), webRequest)
	require.NoError(t, err)
	require.Zero(t, questions, "it has had no ReplicaSet that might have been deleted")
	require.Empty(t, r.events.(*events.FakeRecorder).Events, "nothing was scaled")
	var sets appsv1.ReplicaSetList
	require.NoError(t, r.client.List(t.Context(), &sets))
	require.Len(t, sets.Items, 1)
}
