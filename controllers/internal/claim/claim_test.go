package claim

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/reconcile"
)

var webLabels = map[string]string{"app": "web"}

func newOwner(uid types.UID, deleting bool) *Owner {
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: uid},
	}
	if deleting {
		rs.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	return &Owner{
		Object: rs, Kind: appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
		Selector: labels.SelectorFromSet(webLabels),
	}
}

func newPod(labels map[string]string, deleting bool, owners ...metav1.OwnerReference) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "pod", Labels: labels, OwnerReferences: owners,
		},
	}
	if deleting {
		pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	return pod
}

// Two owners that both count a Pod create too few; two that both delete it delete too many.
func TestAnObjectBelongsToItsControllerAndToASelectorThatMatches(t *testing.T) {
	mine, other := newOwner("mine", false).Reference(), newOwner("other", false).Reference()
	notController := other
	notController.Controller = nil
	for _, c := range []struct {
		name          string
		pod           *corev1.Pod
		verdict       Verdict
		whileDeletion Verdict // of the owner
	}{
		{"mine, and selected", newPod(webLabels, false, mine), Keep, Keep},
		{"mine, and not selected", newPod(nil, false, mine), Release, Ignore},
		{"mine, selected and being deleted", newPod(webLabels, true, mine), Keep, Keep},
		{"somebody else's, and selected", newPod(webLabels, false, other), Ignore, Ignore},
		{"somebody else's, and not selected", newPod(nil, false, other), Ignore, Ignore},
		{"nobody's, and selected", newPod(webLabels, false), Adopt, Ignore},
		{"nobody's, and not selected", newPod(nil, false), Ignore, Ignore},
		{"nobody's, selected and being deleted", newPod(webLabels, true), Ignore, Ignore},
		{
			"with an owner that does not control it", newPod(webLabels, false, notController),
			Adopt, Ignore,
		},
	} {
		require.Equal(t, c.verdict, newOwner("mine", false).Decide(c.pod), c.name)
		require.Equal(t, c.whileDeletion, newOwner("mine", true).Decide(c.pod), c.name)
	}
	elsewhere := newPod(webLabels, false)
	elsewhere.Namespace = "elsewhere"
	require.Equal(t, Ignore, newOwner("mine", false).Decide(elsewhere),
		"an owner owns nothing in another namespace")
	require.Equal(t, "release", Release.String())
}

// A claim that one round does not settle would write in each round.
func TestOneRoundOfClaimsSettlesThem(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 17))
	for range 20_000 {
		owner := newOwner("mine", random.IntN(4) == 0)
		references := [][]metav1.OwnerReference{
			nil, {owner.Reference()}, {newOwner("other", false).Reference()},
		}
		pod := newPod([]map[string]string{nil, webLabels, {"app": "web", "x": "y"}}[random.IntN(3)],
			random.IntN(3) == 0, references[random.IntN(3)]...)
		before := owner.Decide(pod)
		switch before {
		case Adopt:
			pod.OwnerReferences = append(pod.OwnerReferences, owner.Reference())
			require.Equal(t, Keep, owner.Decide(pod))
		case Release:
			pod.OwnerReferences = nil
			require.Equal(t, Ignore, owner.Decide(pod))
		default:
			require.Equal(t, before, owner.Decide(pod))
		}
	}
}

// claimWorld is a server with the ReplicaSet web.
func claimWorld(
	t *testing.T, test func(t *testing.T, server *fakeapi.Server, c client.Client, owner *Owner),
) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{NoManagedFields: true})
		defer server.Close()
		c, err := client.New(server.Config(), client.Options{})
		require.NoError(t, err)
		owner := newOwner("", false)
		rs := owner.Object.(*appsv1.ReplicaSet)
		rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: webLabels}
		rs.Spec.Template = corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: webLabels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}},
		}
		require.NoError(t, c.Create(t.Context(), rs))
		test(t, server, c, owner)
	})
}

func makePod(
	t *testing.T, c client.Client, name string, labels map[string]string,
	owners ...metav1.OwnerReference,
) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, Labels: labels, OwnerReferences: owners,
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}},
	}
	require.NoError(t, c.Create(t.Context(), pod))
	return pod
}

func ownersOf(t *testing.T, c client.Client, name string) []metav1.OwnerReference {
	var pod corev1.Pod
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, &pod))
	return pod.OwnerReferences
}

func TestAClaimAdoptsAndReleasesAndKeepsWhatOthersHaveWritten(t *testing.T) {
	claimWorld(t, func(t *testing.T, server *fakeapi.Server, c client.Client, owner *Owner) {
		friend := metav1.OwnerReference{
			APIVersion: "v1", Kind: "ConfigMap", Name: "friend", UID: "friend",
		}
		pods := []*corev1.Pod{
			makePod(t, c, "kept", webLabels, owner.Reference()),
			makePod(t, c, "orphan", webLabels, friend),
			makePod(t, c, "left", nil, owner.Reference(), friend), makePod(t, c, "stranger", nil),
		}
		asked := 0
		orphan := pods[1].DeepCopy()
		owned, err := Claim(t.Context(), c, owner, pods, func(ctx context.Context) error {
			asked++
			return StillWants(owner.Object.(client.Object), c)(ctx)
		})
		require.NoError(t, err)
		require.Len(t, owned, 2)
		require.Equal(t, "kept", owned[0].Name)
		require.Equal(t, "orphan", owned[1].Name)
		require.Equal(t, 1, asked)
		require.Equal(t, orphan, pods[1], "the object may be a cache's")
		require.ElementsMatch(t, []metav1.OwnerReference{friend, owner.Reference()},
			ownersOf(t, c, "orphan"))
		require.Equal(t, []metav1.OwnerReference{friend}, ownersOf(t, c, "left"))
		require.Empty(t, ownersOf(t, c, "stranger"))

		server.ForgetRequests()
		_, err = Claim(t.Context(), c, owner, owned, func(context.Context) error {
			return errors.New("nobody should ask")
		})
		require.NoError(t, err)
		require.Empty(t, server.Requests(fakeapi.Match{}), "nothing is left to do")
	})
}

// A deleted owner must not adopt what its successor, of the same name and selector, wants.
func TestNobodyIsAdoptedForAnOwnerThatIsGone(t *testing.T) {
	claimWorld(t, func(t *testing.T, server *fakeapi.Server, c client.Client, owner *Owner) {
		rs := owner.Object.(*appsv1.ReplicaSet)
		stillWants := StillWants(rs.DeepCopy(), c)
		pods := []*corev1.Pod{makePod(t, c, "a", webLabels), makePod(t, c, "b", webLabels)}
		refused := func(message string) {
			server.ForgetRequests()
			owned, err := Claim(t.Context(), c, owner, pods, stillWants)
			require.ErrorContains(t, err, message)
			require.Empty(t, owned)
			require.Len(t, server.Requests(fakeapi.Match{}), 1,
				"the server is asked once, and no Pod is patched")
		}
		deleted := rs.DeepCopy()
		deleted.Finalizers = []string{"loopwright.dev/wait"}
		require.NoError(t, c.Update(t.Context(), deleted))
		require.NoError(t, c.Delete(t.Context(), deleted))
		refused("has been deleted")
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(rs), deleted))
		deleted.Finalizers = nil
		require.NoError(t, c.Update(t.Context(), deleted))
		refused("not found")
		successor := rs.DeepCopy()
		successor.UID, successor.ResourceVersion = "", ""
		require.NoError(t, c.Create(t.Context(), successor))
		refused("another one has its name")
	})
}

func TestAnObjectThatHasChangedMeanwhileIsNotTaken(t *testing.T) {
	claimWorld(t, func(t *testing.T, _ *fakeapi.Server, c client.Client, owner *Owner) {
		adopt := func(pod *corev1.Pod) ([]*corev1.Pod, error) {
			return Claim(t.Context(), c, owner, []*corev1.Pod{pod}, func(context.Context) error {
				return nil
			})
		}
		gone := makePod(t, c, "gone", webLabels)
		require.NoError(t, c.Delete(t.Context(), gone.DeepCopy()))
		owned, err := adopt(gone)
		require.NoError(t, err, "what is gone is no reason to try again")
		require.Empty(t, owned)

		makePod(t, c, "gone", webLabels)
		owned, err = adopt(gone)
		require.Error(t, err, "another Pod has the name, of which nothing was read")
		require.Empty(t, owned)
		require.Empty(t, ownersOf(t, c, "gone"))

		taken := makePod(t, c, "taken", webLabels)
		other := newOwner("other", false).Reference()
		changed := taken.DeepCopy()
		changed.OwnerReferences = []metav1.OwnerReference{other}
		require.NoError(t, c.Update(t.Context(), changed))
		owned, err = adopt(taken)
		require.Error(t, err, "an object has one controller")
		require.Empty(t, owned)
		require.Equal(t, []metav1.OwnerReference{other}, ownersOf(t, c, "taken"))

		relabelled := makePod(t, c, "relabelled", webLabels)
		changed = relabelled.DeepCopy()
		changed.Labels = map[string]string{"app": "debug"}
		require.NoError(t, c.Update(t.Context(), changed))
		owned, err = adopt(relabelled)
		require.NoError(t, err)
		require.Empty(t, owned, "who counts it deletes another one, because there is one too many")

		left := makePod(t, c, "left", nil, owner.Reference())
		require.NoError(t, c.Delete(t.Context(), left.DeepCopy()))
		owned, err = adopt(left)
		require.NoError(t, err)
		require.Empty(t, owned)
	})
}

func TestTheIndexFindsWhatAnOwnerControlsAndWhatNobodyControls(t *testing.T) {
	index := Index{Kind: newOwner("mine", false).Kind.GroupKind()}
	mine := newOwner("mine", false).Reference()
	newer := mine
	newer.APIVersion = "apps/v2"
	foreign := mine
	foreign.APIVersion = "shop.example/v1"
	sibling := mine
	sibling.Kind = "StatefulSet"
	notController := mine
	notController.Controller = nil
	require.Equal(t, []string{"web"}, index.values(newPod(nil, false, mine)))
	require.Equal(t, []string{"web"}, index.values(newPod(nil, false, newer)),
		"a reference keeps the version with which it was written")
	require.Equal(t, []string{"-"}, index.values(newPod(nil, false)))
	require.Equal(t, []string{"-"}, index.values(newPod(nil, false, notController)))
	require.Empty(t, index.values(newPod(nil, false, foreign)), "another kind's")
	require.Empty(t, index.values(newPod(nil, false, sibling)), "another kind's of the same group")
	require.NotEqual(t, index.field(), Index{}.field())
	require.Equal(t, client.MatchingFields{"controller:ReplicaSet.apps": "web"}, index.Of("web"))
	require.Equal(t, client.MatchingFields{"controller:ReplicaSet.apps": "-"}, index.Orphans())
}

// An orphan whose event is filtered out is never adopted. If all its events passed, each report of
// a kubelet would lead to a reconcile.
func TestAnOrphanIsLookedAtWhenItBecomesOneAndWhenItsLabelsChange(t *testing.T) {
	controller := newOwner("1", false).Reference()
	alone, owned, leaving := newPod(webLabels, false), newPod(webLabels, false, controller),
		newPod(webLabels, true)
	other := newPod(nil, false)
	for _, c := range []struct {
		what     string
		old, now *corev1.Pod
		wanted   bool
	}{
		{"it has lost its controller", owned, alone, true},
		{"it has got a controller", alone, owned, false},
		{"its labels have changed", other, alone, true},
		{"its status has changed", alone, alone, false},
		{"it has a controller", owned, owned, false},
		{
			"it has a controller, and its labels have changed", newPod(nil, false, controller),
			owned, false,
		},
		{"it is being deleted now", alone, leaving, false},
		{"it is being deleted", leaving, leaving, false},
	} {
		require.Equal(t, c.wanted, BecomesOrphan.Update(event.UpdateEvent{ObjectOld: c.old,
			ObjectNew: c.now}), c.what)
	}
	require.True(t, BecomesOrphan.Create(event.CreateEvent{Object: alone}))
	require.False(t, BecomesOrphan.Create(event.CreateEvent{Object: owned}))
	require.False(t, BecomesOrphan.Create(event.CreateEvent{Object: leaving}))
	require.False(t, BecomesOrphan.Delete(event.DeleteEvent{Object: alone}))
	require.False(t, BecomesOrphan.Generic(event.GenericEvent{Object: alone}))
}

// setsReader is a cache that has ReplicaSets.
type setsReader struct {
	client.Reader
	sets  []appsv1.ReplicaSet
	fails error
	asked int
}

func (r *setsReader) List(
	_ context.Context, list client.ObjectList, opts ...client.ListOption,
) error {
	r.asked++
	list.(*appsv1.ReplicaSetList).Items = r.sets
	if namespace := (&client.ListOptions{}).ApplyOptions(opts).Namespace; namespace != "default" {
		return errors.New("it was asked for the namespace " + namespace)
	}
	return r.fails
}

// Otherwise each Pod that a user creates would lead to a reconcile of all owners.
func TestAnOrphanWakesTheOwnersThatSelectIt(t *testing.T) {
	set := func(name string, selector *metav1.LabelSelector) appsv1.ReplicaSet {
		return appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec:       appsv1.ReplicaSetSpec{Selector: selector},
		}
	}
	objects := &setsReader{sets: []appsv1.ReplicaSet{
		set("api", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "api"}}),
		set("broken",
			&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app",
				Operator: "?"}}}),
		set("all", &metav1.LabelSelector{}),
		set("web", &metav1.LabelSelector{MatchLabels: webLabels}),
	}}
	wanting := Wanting(objects, &appsv1.ReplicaSetList{},
		func(set client.Object) *metav1.LabelSelector {
			return set.(*appsv1.ReplicaSet).Spec.Selector
		})
	logged := 0
	ctx, pod := log.IntoContext(t.Context(), funcr.New(func(string, string) {
		logged++
	}, funcr.Options{})), newPod(webLabels, false)
	require.Equal(t, []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "default",
		Name: "web"}}}, wanting(ctx, pod))

	asked := objects.asked
	require.Empty(t, wanting(ctx, newPod(webLabels, false, newOwner("1", false).Reference())))
	require.Equal(t, asked, objects.asked,
		"a Pod that has a controller is of no interest, and there are many")

	require.Zero(t, logged)

	objects.fails = errors.New("no")
	require.Empty(t, wanting(ctx, pod))
	require.Equal(t, 1, logged, "there is nobody to whom the error could be returned")
}

// A Pod that a proxy calls absent isn't: an owner that leaves it out of the count creates another one, and an owner
// that's called absent gets nothing done any more.
func TestAProxys404IsNoObjectThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		c, err := client.New(server.Config(), client.Options{})
		require.NoError(t, err)
		set := newOwner("", false).Object.(*appsv1.ReplicaSet)
		set.Spec.Selector = &metav1.LabelSelector{MatchLabels: webLabels}
		set.Spec.Template.Labels = webLabels
		set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web"}}
		require.NoError(t, c.Create(t.Context(), set))
		owner := newOwner(set.UID, false)
		orphan := newPod(webLabels, false)
		stranger := newPod(nil, false, owner.Reference())
		stranger.Name = "stranger"
		for _, pod := range []*corev1.Pod{orphan, stranger} {
			pod.Spec.Containers = []corev1.Container{{Name: "web", Image: "web"}}
			require.NoError(t, c.Create(t.Context(), pod))
		}
		claim := func(pod *corev1.Pod) ([]*corev1.Pod, error) {
			return Claim(t.Context(), c, owner, []*corev1.Pod{pod}, StillWants(set, c))
		}
		text := &metav1.Status{Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound}
		lift := server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "patch"}, Status: text})
		_, err = claim(orphan)
		require.ErrorContains(t, err, "adopting default/pod")
		_, err = claim(stranger)
		require.ErrorContains(t, err, "releasing default/stranger")
		lift()
		lift = server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "get"}, Status: text})
		_, err = IsThere(t.Context(), c, set)
		require.Error(t, err, "whether the owner is there, nobody has said")
		lift()
		for _, pod := range []*corev1.Pod{orphan, stranger} {
			require.NoError(t, c.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
			owned, err := claim(pod)
			require.NoError(t, err, "one that's really gone is no error")
			require.Empty(t, owned)
		}
	})
}
