package mini_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/mini"
)

// claiming is a ReplicaSet and a client that claims Pods for it.
type claiming struct {
	*world
	client *mini.CachedClient
	owner  *appsv1.ReplicaSet
}

func (w *world) claiming() *claiming {
	cache := mini.NewCache(w.Cluster)
	client := mini.NewCachedClient(cache)
	w.run(cache.Run)
	owner := w.createReplicaSet(replicaSet("web", 3))
	_, err := mini.Get[*appsv1.ReplicaSet](w.ctx, client, mini.KeyOf(owner)) // now it is cached
	require.NoError(w, err)
	return &claiming{world: w, client: client, owner: owner}
}

// pod creates a Pod that has the owner's labels and these owners.
func (c *claiming) pod(name string, owners ...metav1.OwnerReference) *corev1.Pod {
	c.Helper()
	pod, err := c.Other.CoreV1().Pods("default").Create(c.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"app": "web"}, OwnerReferences: owners,
		},
		Spec: c.owner.Spec.Template.Spec,
	}, metav1.CreateOptions{})
	require.NoError(c, err)
	return pod
}

// controllerRef is a reference to an owner that controls.
func controllerRef(name, uid string) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: types.UID(uid),
		Controller: new(true), BlockOwnerDeletion: new(true),
	}
}

func (c *claiming) us() metav1.OwnerReference { return controllerRef("web", string(c.owner.UID)) }

// claim claims copies of the Pods, and returns the names of those that are now ours.
func (c *claiming) claim(pods ...*corev1.Pod) (names []string, err error) {
	c.Helper()
	copies := make([]*corev1.Pod, len(pods))
	for i, pod := range pods {
		copies[i] = pod.DeepCopy()
	}
	selector := labels.SelectorFromSet(labels.Set{"app": "web"})
	mine, err := mini.Claim(c.ctx, c.client, c.owner, selector, copies)
	for _, pod := range mine {
		names = append(names, pod.Name)
	}
	return names, err
}

// live is what the API server has.
func (c *claiming) live(pod *corev1.Pod) *corev1.Pod {
	c.Helper()
	live, err := c.Other.CoreV1().Pods(pod.Namespace).Get(c.ctx, pod.Name, metav1.GetOptions{})
	require.NoError(c, err)
	return live
}

func (c *claiming) unchanged(pod *corev1.Pod, why string) {
	c.Helper()
	require.Equal(c, pod.ResourceVersion, c.live(pod).ResourceVersion, why)
}

func (c *claiming) deleteOwner() {
	c.Helper()
	err := c.Other.AppsV1().ReplicaSets("default").Delete(c.ctx, "web", metav1.DeleteOptions{})
	require.NoError(c, err)
}

func relabel(pod *corev1.Pod) { pod.Labels = map[string]string{"app": "debug"} }

// A Pod whose controller reference has the owner's UID, and whose labels match, counts.
//
// Function: claimObject
func TestPodsThatBelongToTheOwnerAreReturnedWithoutARequest(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.claiming()
		pods := []*corev1.Pod{c.pod("a", c.us()), c.pod("b", c.us())}
		synctest.Wait()
		w.Server.ForgetRequests()
		names, err := c.claim(pods...)
		require.NoError(w, err)
		require.Equal(w, []string{"a", "b"}, names)
		require.Empty(w, w.Server.Requests(fakeapi.Match{}), "every reconcile does this, so it must cost no request")
	})
}

// A Pod counts only if the owner controls it: its UID is in the controller reference. A Pod of
// another controller is never touched.
//
// Function: claimObject
func TestStrangersPodsAreLeftAlone(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.claiming()
		stranger := c.pod("stranger", controllerRef("other", "other-uid"))
		before := c.pod("before", controllerRef("web", "uid-of-an-owner-that-had-this-name-before"))
		both := c.pod("both", controllerRef("other", "other-uid"), metav1.OwnerReference{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: c.owner.UID,
		})
		different := c.changePod(c.pod("different"), relabel)
		w.Server.ForgetRequests()
		names, err := c.claim(stranger, before, both, different)
		require.NoError(w, err)
		require.Empty(w, names)
		require.Empty(w, w.Server.Requests(fakeapi.Match{Verb: "patch"}), "it wasn't ours")
		c.unchanged(stranger, "another controller has it")
		c.unchanged(before, "a UID says who an owner is, and its name does not")
		c.unchanged(both, "another controller has it, whoever else is an owner")
		c.unchanged(different, "an orphan that the selector does not match")
	})
}

// An adoption adds a controller reference. The Pod counts at once.
func TestAnOrphanThatMatchesIsAdopted(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.claiming()
		other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x-uid"}
		half := c.us()
		half.Controller, half.BlockOwnerDeletion = nil, nil
		names, err := c.claim(c.pod("a"), c.pod("b", other), c.pod("c", half))
		require.NoError(w, err)
		require.Equal(w, []string{"a", "b", "c"}, names)
		pods := w.pods()
		require.Equal(w, []metav1.OwnerReference{c.us()}, pods[0].OwnerReferences)
		require.ElementsMatch(w, []metav1.OwnerReference{other, c.us()}, pods[1].OwnerReferences,
			"other owners are not ours to remove")
		require.Equal(w, []metav1.OwnerReference{c.us()}, pods[2].OwnerReferences,
			"an owner that isn't the controller becomes it")
		for _, pod := range pods {
			require.Equal(w, "web", pod.Labels["app"])
		}
	})
}

// Claim is for all kinds: the reference has the owner's kind.
func TestADeploymentClaimsReplicaSets(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.claiming()
		deployment, err := w.Other.AppsV1().Deployments("default").Create(w.ctx, &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: appsv1.DeploymentSpec{
				Selector: c.owner.Spec.Selector, Template: c.owner.Spec.Template,
			},
		}, metav1.CreateOptions{})
		require.NoError(w, err)
		w.changeReplicaSet("web", func(rs *appsv1.ReplicaSet) { rs.Labels = map[string]string{"app": "web"} })
		sets, err := mini.Claim(w.ctx, c.client, deployment,
			labels.SelectorFromSet(labels.Set{"app": "web"}), []*appsv1.ReplicaSet{w.replicaSet("web")})
		require.NoError(w, err)
		require.Len(w, sets, 1)
		stored := w.replicaSet("web")
		require.True(w, metav1.IsControlledBy(stored, deployment))
		require.Equal(w, "Deployment", stored.OwnerReferences[0].Kind)
		require.Equal(w, stored.ResourceVersion, sets[0].ResourceVersion,
			"the returned object is what the API server has stored, so an update of it isn't a conflict")
	})
}

// A Pod whose labels no longer match loses the reference to its owner, and no longer
// counts.
func TestAPodThatNoLongerMatchesIsReleased(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.claiming()
		other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x-uid"}
		a := c.changePod(c.pod("a", c.us()), relabel)
		b := c.changePod(c.pod("b", c.us(), other), relabel)
		synctest.Wait()
		w.Server.ForgetRequests()
		names, err := c.claim(a, c.pod("mine", c.us()), b)
		require.NoError(w, err)
		require.Equal(w, []string{"mine"}, names)
		require.Empty(w, c.live(a).OwnerReferences,
			"a user changes a Pod's label, to inspect the Pod: it must not be deleted with the ReplicaSet")
		require.Equal(w, []metav1.OwnerReference{other}, c.live(b).OwnerReferences,
			"other owners are not ours to remove")
		require.Empty(w, w.Server.Requests(fakeapi.Match{Verb: "get", Resource: "replicasets"}),
			"a release needs no proof that the owner still exists")
	})
}

// A Pod with a deletion timestamp won't exist much longer, so adopting it would be
// useless.
//
// Function: claimObject
func TestAnOrphanThatIsEndingIsNotAdopted(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.claiming()
		orphan := c.bind(c.pod("a"), "node")
		mine := c.bind(c.pod("b", c.us()), "node")
		c.deletePod(orphan)
		c.deletePod(mine)
		orphan, mine = c.live(orphan), c.live(mine)
		names, err := c.claim(orphan, mine)
		require.NoError(w, err)
		require.Equal(w, []string{"b"}, names, "it's ours until it no longer exists")
		c.unchanged(orphan, "it is being deleted")
	})
}

// A Pod that's ending may wait for a finalizer for days. If its labels no longer match, it has to be released like any other.
//
// Function: claimObject
func TestAPodThatIsEndingIsReleased(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.claiming()
		ending := c.bind(c.changePod(c.pod("a", c.us()), relabel), "node")
		c.deletePod(ending)
		names, err := c.claim(c.live(ending))
		require.NoError(w, err)
		require.Empty(w, names)
		require.Empty(w, c.live(ending).OwnerReferences)
	})
}

// An owner with a deletion timestamp keeps its Pods, but writes nothing.
//
// Function: claimObject
func TestAnOwnerThatIsBeingDeletedKeepsWhatItHasAndChangesNothing(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.claiming()
		c.owner.DeletionTimestamp = new(metav1.Now())
		mine, orphan := c.pod("mine", c.us()), c.pod("orphan")
		different := c.changePod(c.pod("different", c.us()), relabel)
		names, err := c.claim(mine, orphan, different)
		require.NoError(w, err)
		require.Equal(w, []string{"mine"}, names)
		c.unchanged(orphan, "the owner is being deleted: it must not adopt")
		c.unchanged(different, "the owner is being deleted: the garbage collector decides about its Pods")
	})
}

// The Pod has changed since it was read, but not its owners: a patch without a
// resourceVersion isn't a conflict.
//
// Function: patchOwner
func TestAPodThatAnotherClientHasChangedIsStillAdopted(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.claiming()
		orphan := c.pod("a")
		c.changePod(orphan, func(pod *corev1.Pod) { pod.Annotations = map[string]string{"note": "1"} })
		names, err := c.claim(orphan)
		require.NoError(w, err)
		require.Equal(w, []string{"a"}, names)
		require.Equal(w, "1", c.live(orphan).Annotations["note"], "the other client's change")
	})
}

// The cache shows Pods that have been deleted by now, and two of them have a successor
// with the same name: the patch must be for the Pod with this UID.
func TestDeletedAndReplacedPodsAreNotOursButNotAnError(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.claiming()
		gone := []*corev1.Pod{
			c.pod("a"), c.changePod(c.pod("b", c.us()), relabel),
			c.pod("c"), c.changePod(c.pod("d", c.us()), relabel),
		}
		for _, pod := range gone {
			c.deletePod(pod)
		}
		newC, newD := c.pod("c"), c.changePod(c.pod("d", c.us()), relabel)
		names, err := c.claim(append(gone, c.pod("mine", c.us()))...)
		require.NoError(w, err)
		require.Equal(w, []string{"mine"}, names)
		c.unchanged(newC, "it has the name of the Pod that the cache showed, and is another one")
		c.unchanged(newD, "it has the name of the Pod that the cache showed, and is another one")
	})
}

// The cache shows an orphan that has a controller by now. The API server refuses a second one.
//
// Function: adopt
func TestAnOrphanThatAnotherControllerAdoptsFirstIsNotOurs(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.claiming()
		orphan := c.pod("a")
		theirs := c.changePod(orphan, func(pod *corev1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{controllerRef("other", "other-uid")}
		})
		names, err := c.claim(orphan)
		require.NoError(w, err)
		require.Empty(w, names)
		c.unchanged(theirs, "another controller was faster")
	})
}

// A patch that is refused for any other reason is an error, but the other Pods still get
// theirs.
//
// Function: Claim
func TestARefusedPatchIsAnErrorButDoesNotStopTheRest(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.claiming()
		for _, name := range []string{"a", "b"} {
			w.Server.Inject(fakeapi.Fault{
				Match:  fakeapi.Match{Verb: "patch", Resource: "pods", Name: name},
				Status: fakeapi.Forbidden(),
			})
		}
		a, b := c.pod("a"), c.changePod(c.pod("b", c.us()), relabel)
		d := c.changePod(c.pod("d", c.us()), relabel)
		names, err := c.claim(a)
		require.Error(w, err, "the orphan could not be adopted")
		require.Empty(w, names)
		_, err = c.claim(b)
		require.Error(w, err, "the Pod could not be released")
		names, err = c.claim(a, b, c.pod("c"), d)
		require.Error(w, err)
		require.Equal(w, []string{"c"}, names)
		require.Empty(w, c.live(d).OwnerReferences)
	})
}

// The cache shows the owner as it was an hour ago. If it adopted Pods now, the garbage
// collector would delete them.
func TestAnOwnerThatTheCacheShowsAlthoughItWasDeletedAdoptsNothing(t *testing.T) {
	for name, happens := range inorder.Map(map[string]func(c *claiming){
		"deleted": func(c *claiming) { c.deleteOwner() },
		"being deleted": func(c *claiming) {
			c.changeReplicaSet("web", func(rs *appsv1.ReplicaSet) { rs.Finalizers = []string{"orphan"} })
			c.deleteOwner()
		},
		"replaced": func(c *claiming) {
			c.deleteOwner()
			c.createReplicaSet(replicaSet("web", 3))
		},
		"not to be read": func(c *claiming) {
			c.Server.Inject(fakeapi.Fault{
				Match:  fakeapi.Match{Verb: "get", Resource: "replicasets"},
				Status: fakeapi.InternalError(),
			})
		},
	}) {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(w *world) {
				w.slowWatch("replicasets", time.Hour)
				c := w.claiming()
				happens(c)
				mine, orphan := c.pod("mine", c.us()), c.pod("orphan")
				another := c.pod("another")
				names, err := c.claim(orphan, mine, another)
				require.Error(w, err, "without the error, the caller would create a Pod in place of the orphan")
				require.Equal(w, []string{"mine"}, names)
				c.unchanged(orphan, "the owner is gone: only the API server knows")
				c.unchanged(another, "the owner is gone: only the API server knows")
			})
		})
	}
}

// One answer from the API server is enough for all orphans of a call.
//
// Function: Claim
func TestTheOwnerIsReadOnceForAHundredOrphans(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.claiming()
		var orphans []*corev1.Pod
		for i := range 100 {
			orphans = append(orphans, c.pod("orphan-"+strconv.Itoa(i)))
		}
		w.Server.ForgetRequests()
		names, err := c.claim(orphans...)
		require.NoError(w, err)
		require.Len(w, names, 100)
		require.Len(w, w.Server.Requests(fakeapi.Match{Verb: "get", Resource: "replicasets"}), 1)
	})
}

// No is an answer, too: an owner that can't be read isn't asked for once more for each orphan.
//
// Function: Claim
func TestTheOwnerIsReadOnceEvenIfItMayNotAdopt(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.claiming()
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "get", Resource: "replicasets"}, Status: fakeapi.Forbidden(),
		})
		one, two, three := c.pod("one"), c.pod("two"), c.pod("three")
		w.Server.ForgetRequests()
		_, err := c.claim(one, two, three)
		require.Error(w, err)
		require.Len(w, w.Server.Requests(fakeapi.Match{Verb: "get", Resource: "replicasets"}), 1)
	})
}
