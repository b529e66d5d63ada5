package handler_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/internal/logtest"
	"github.com/loopwright/loopwright/manager/reconcile"
)

var (
	replicaSet = &appsv1.ReplicaSet{}
	web        = owner("apps/v1", "ReplicaSet", "web")
	db         = owner("apps/v1", "ReplicaSet", "db")
)

func TestTheOwnersOfTheObjectAreAskedForWithAPriorityAndAReason(t *testing.T) {
	for _, c := range []struct {
		event happening
		want  string
	}{
		{create(pod("web-1", "1", web), false), "at 0: create of Pod shop/web-1, through its owner"},
		{create(pod("web-1", "1", web), true), "at -100: first listing of Pod shop/web-1, through its owner"},
		{update(pod("web-1", "1", web), pod("web-1", "2", web)), "at 0: update of Pod shop/web-1, through its owner"},
		{update(pod("web-1", "1", web), pod("web-1", "1", web)), "at -100: resync of Pod shop/web-1, through its owner"},
		{update(nil, pod("web-1", "1", web)), "at 0: update of Pod shop/web-1, through its owner"},
		{update(pod("web-1", "1", web), nil), "at 0: update of Pod shop/web-1, through its owner"},
		{remove(pod("web-1", "1", web), false), "at 0: delete of Pod shop/web-1, through its owner"},
		{remove(pod("web-1", "1", web), true), "at 0: unseen delete of Pod shop/web-1, through its owner"},
		{generic(pod("web-1", "1", web)), "at 0: generic event of Pod shop/web-1, through its owner"},
	} {
		q := newQueue()
		c.event.tell(forOwner(replicaSet), q)
		require.Equal(t, []string{"shop/web " + c.want}, added(t, q), c.event.name)
	}
}

// An owner that loses a Pod has to make another.
func TestAnUpdateThatChangesTheOwnerAsksForBoth(t *testing.T) {
	for _, c := range []struct {
		name    string
		was, is []metav1.OwnerReference
		want    []string
	}{
		{"adopted", nil, []metav1.OwnerReference{web}, []string{"web"}},
		{"released", []metav1.OwnerReference{web}, nil, []string{"web"}},
		{"handed over", []metav1.OwnerReference{web}, []metav1.OwnerReference{db}, []string{"web", "db"}},
		{"one more", []metav1.OwnerReference{web}, []metav1.OwnerReference{db, web}, []string{"web", "db"}},
		{"the same one twice", []metav1.OwnerReference{web, web}, []metav1.OwnerReference{web}, []string{"web"}},
		{"none", nil, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, want := newQueue(), []string{}
			for _, name := range c.want {
				want = append(want, "shop/"+name+" at 0: update of Pod shop/web-1, through its owner")
			}
			update(pod("web-1", "1", c.was...), pod("web-1", "2", c.is...)).tell(forOwner(replicaSet), q)
			require.Equal(t, want, added(t, q))
		})
	}
}

func TestOwnersAreComparedByGroupAndKindAndNotByVersion(t *testing.T) {
	for _, c := range []struct {
		name      string
		ref       metav1.OwnerReference
		ownerType client.Object
		want      bool
	}{
		{"the same", web, replicaSet, true},
		{"another version", owner("apps/v1beta2", "ReplicaSet", "web"), replicaSet, true},
		{"another group", owner("extensions/v1", "ReplicaSet", "web"), replicaSet, false},
		{"a group that only begins like ours", owner("apps.example.com/v1", "ReplicaSet", "web"), replicaSet, false},
		{"a group that only ends like ours", owner("myapps/v1", "ReplicaSet", "web"), replicaSet, false},
		{"another kind", owner("apps/v1", "Deployment", "web"), replicaSet, false},
		{"a kind that only begins like ours", owner("apps/v1", "ReplicaSetter", "web"), replicaSet, false},
		{"a kind that's written in another way", owner("apps/v1", "replicaset", "web"), replicaSet, false},
		{"the core group, asked for another", owner("v1", "ReplicaSet", "web"), replicaSet, false},
		{"another group, asked for core", owner("apps/v1", "Node", "web"), &corev1.Node{}, false},
		{"the core group in another version", owner("v2", "Node", "web"), &corev1.Node{}, true},
		{"what is no group and version", owner("apps/v1/beta", "ReplicaSet", "web"), replicaSet, false},
		{"what is no group and version, asked for core", owner("a/b/c", "Node", "web"), &corev1.Node{}, false},
	} {
		q := newQueue()
		create(pod("web-1", "1", c.ref), false).tell(forOwner(c.ownerType), q)
		require.Equal(t, c.want, len(added(t, q)) == 1, c.name)
	}
}

func TestOnlyTheControllerIsAskedForIfThatIsWanted(t *testing.T) {
	deployment := controlledBy(owner("apps/v1", "Deployment", "web"))
	no := db
	no.Controller = new(false)
	for _, c := range []struct {
		name   string
		owners []metav1.OwnerReference
		want   []string
	}{
		{"no controller", []metav1.OwnerReference{web, no}, nil},
		{"the second of three", []metav1.OwnerReference{web, controlledBy(db), web}, []string{"shop/db"}},
		{"a controller of another kind", []metav1.OwnerReference{deployment, web}, nil},
		// The API server does not allow two. controller-runtime takes the first, too.
		{"two controllers", []metav1.OwnerReference{controlledBy(db), controlledBy(web)}, []string{"shop/db"}},
		{"two of different kinds", []metav1.OwnerReference{deployment, controlledBy(web)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, got := newQueue(), []string(nil)
			create(pod("web-1", "1", c.owners...), false).tell(forOwner(replicaSet, handler.OnlyControllerOwner()), q)
			for q.Len() > 0 {
				item, _ := q.Get()
				got = append(got, item.String())
				q.Done(item)
			}
			require.Equal(t, c.want, got)
		})
	}
}

// The API server accepts no such reference, so somebody should hear of it.
func TestAReferenceThatCannotBeReadIsLogged(t *testing.T) {
	log := logtest.Read(t)
	create(pod("web-1", "1", owner("a/b/c", "Node", "web")), false).tell(forOwner(&corev1.Node{}), newQueue())
	require.Contains(t, log.String(), "An owner reference is left out")
}

// A request with a namespace names no object if the kind has none: the owner is never reconciled.
func TestAnOwnerThatIsInNoNamespaceIsAskedForWithoutOne(t *testing.T) {
	q := newQueue()
	create(pod("web-1", "1", owner("v1", "Node", "n1")), false).tell(forOwner(&corev1.Node{}), q)
	require.Equal(t, []string{"/n1 at 0: create of Pod shop/web-1, through its owner"}, added(t, q))
}

// counting counts the questions to a mapper, and fails as long as it has errors to return.
type counting struct {
	meta.RESTMapper
	asked    int
	versions [][]string // that were asked for
	errors   []error
}

func (c *counting) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	c.asked++
	c.versions = append(c.versions, versions)
	if len(c.errors) > 0 {
		err := c.errors[0]
		c.errors = c.errors[1:]
		return nil, err
	}
	return c.RESTMapper.RESTMapping(kind, versions...)
}

// A mapper may ask the API server. Asking for each event of a storm would take minutes.
func TestTheMapperIsAskedOnce(t *testing.T) {
	mapper := &counting{RESTMapper: restMapper()}
	h, q := handler.EnqueueRequestForOwner(scheme.Scheme, mapper, &corev1.Node{}), newQueue()
	for range 3 {
		create(pod("web-1", "1", owner("v1", "Node", "n1"), owner("v1", "Node", "n2")), false).tell(h, q)
	}
	require.Len(t, added(t, q), 2)
	require.Equal(t, 1, mapper.asked)
}

// The reference keeps the version with which it was written. When that is no longer served,
// controller-runtime drops the event.
func TestAVersionThatIsNoLongerServedDoesNotLoseTheEvent(t *testing.T) {
	h, q, log := forOwner(&corev1.Node{}), newQueue(), logtest.Read(t)
	create(pod("web-1", "1", owner("v1alpha1", "Node", "n1")), false).tell(h, q)
	require.Equal(t, []string{"/n1 at 0: create of Pod shop/web-1, through its owner"}, added(t, q))

	mapper := &counting{RESTMapper: restMapper(), errors: []error{errors.New("not this one")}}
	h = handler.EnqueueRequestForOwner(scheme.Scheme, mapper, &corev1.Node{})
	create(pod("web-1", "1", owner("v1", "Node", "n1")), false).tell(h, q)
	require.Equal(t, []string{"/n1 at 0: create of Pod shop/web-1, through its owner"}, added(t, q))
	require.Equal(t, [][]string{{"v1"}, {"v1"}}, mapper.versions)

	mapper = &counting{RESTMapper: restMapper(), errors: []error{errors.New("not this one")}}
	h = handler.EnqueueRequestForOwner(scheme.Scheme, mapper, replicaSet)
	create(pod("web-1", "1", owner("apps/v1beta1", "ReplicaSet", "web")), false).tell(h, q)
	require.Equal(t, [][]string{{"v1"}, {"v1beta1"}}, mapper.versions)
	require.Contains(t, log.String(), "no matches for kind", "neither is there")
}

func TestWhileTheMapperFailsOwnersAreLookedForInTheObjectsNamespace(t *testing.T) {
	down := errors.New("the API server is down")
	mapper := &counting{RESTMapper: restMapper(), errors: []error{down, down}}
	h, q, log := handler.EnqueueRequestForOwner(scheme.Scheme, mapper, &corev1.Node{}), newQueue(), logtest.Read(t)
	lost := pod("web-1", "1", owner("v1", "Node", "n1"))
	create(lost, false).tell(h, q)
	require.Equal(t, []string{"shop/n1 at 0: create of Pod shop/web-1, through its owner"}, added(t, q))
	require.Contains(t, log.String(), "the API server is down")
	create(lost, false).tell(h, q)
	require.Equal(t, []string{"/n1 at 0: create of Pod shop/web-1, through its owner"}, added(t, q), "the guess is not kept")
}

// Such a handler would drop all events, and nobody would know why.
func TestAnOwnerTypeThatTheSchemeDoesNotKnowPanicsAtTheStart(t *testing.T) {
	var none *appsv1.ReplicaSet
	for _, c := range []struct {
		name      string
		scheme    *runtime.Scheme
		ownerType client.Object
		want      string
	}{
		{"unknown", runtime.NewScheme(), replicaSet, "was its AddToScheme called?"},
		{"two kinds", twins(), replicaSet, "the scheme has 2 kinds for the owner type *v1.ReplicaSet"},
		{"nil", scheme.Scheme, nil, "give it an empty object"},
		{"a nil pointer", scheme.Scheme, none, "give it an empty object"},
	} {
		func() {
			defer func() {
				message := fmt.Sprint(recover())
				require.Contains(t, message, "handler.EnqueueRequestForOwner: ", c.name)
				require.Contains(t, message, c.want, c.name)
			}()
			handler.EnqueueRequestForOwner(c.scheme, restMapper(), c.ownerType)
		}()
	}
}

func TestAnEventWithoutAnObjectHasNoOwners(t *testing.T) {
	for _, e := range []happening{create(nil, true), update(nobody, nil), remove(nobody, false), generic(nil)} {
		q := newQueue()
		e.tell(forOwner(replicaSet), q)
		require.Empty(t, added(t, q), e.name)
	}
}

// The model is written so that one sees at once that it is right: a set of names.
func TestForRandomReferencesTheRequestsAreThoseOfASimpleModel(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var versions, kinds = []string{"apps/v1", "apps/v1beta1", "v1", "batch/v1"}, []string{"ReplicaSet", "Node", "Deployment"}
	references := func() []metav1.OwnerReference {
		refs := make([]metav1.OwnerReference, r.IntN(5))
		for i := range refs {
			refs[i] = owner(versions[r.IntN(len(versions))], kinds[r.IntN(len(kinds))], fmt.Sprint("o", r.IntN(3)))
			if r.IntN(3) == 0 {
				refs[i].Controller = new(r.IntN(2) == 0)
			}
		}
		return refs
	}
	for round := range 3000 {
		ownerType, group, kind, namespace := client.Object(replicaSet), "apps", "ReplicaSet", "shop"
		if r.IntN(2) == 0 {
			ownerType, group, kind, namespace = &corev1.Node{}, "", "Node", ""
		}
		only := r.IntN(2) == 0
		var opts []handler.OwnerOption
		if only {
			opts = append(opts, handler.OnlyControllerOwner())
		}
		was, is := pod("p", "1", references()...), pod("p", "2", references()...)

		want := map[reconcile.Request]bool{}
		for _, obj := range []*corev1.Pod{was, is} {
			refs := obj.OwnerReferences
			if only {
				refs = nil
				if ref := metav1.GetControllerOf(obj); ref != nil {
					refs = []metav1.OwnerReference{*ref}
				}
			}
			for _, ref := range refs {
				if gv, _ := schema.ParseGroupVersion(ref.APIVersion); gv.Group == group && ref.Kind == kind {
					want[req(namespace, ref.Name)] = true
				}
			}
		}
		q := newQueue()
		update(was, is).tell(forOwner(ownerType, opts...), q)
		got, adds := map[reconcile.Request]bool{}, 0
		for q.Len() > 0 {
			work, _ := q.Next(t.Context())
			got[work.Item], adds = true, adds+work.Causes.Count
		}
		require.Equal(t, want, got, "round %d: %v, then %v", round, was.OwnerReferences, is.OwnerReferences)
		require.Len(t, want, adds, "round %d: no request is added twice", round)
	}
}
