package mini_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/mini"
)

// graph returns the graph of ConfigMaps, Nodes and Pods, and the names of the objects that
// its watches ask to reconcile, which are taken out by each call of woken.
func (w *world) graph() (g *mini.OwnerGraph, woken func() []string) {
	w.Helper()
	m := mini.NewManager(w.Cluster)
	g, err := mini.NewOwnerGraph(m, &corev1.ConfigMap{}, &corev1.Node{}, &corev1.Pod{})
	require.NoError(w, err)
	var mu sync.Mutex // guards reconciled
	reconciled := map[string]bool{}
	for _, k := range g.Kinds {
		c := mini.NewController(k.Kind.Kind, mini.ReconcilerFunc(
			func(_ context.Context, req mini.Request) (mini.Result, error) {
				mu.Lock()
				defer mu.Unlock()
				reconciled[k.Kind.Kind+" "+req.Name] = true
				return mini.Result{}, nil
			}))
		g.Watch(c, k)
		m.AddController(c)
	}
	w.run(m.Run)
	synctest.Wait()
	return g, func() []string {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		defer clear(reconciled)
		return slices.Sorted(maps.Keys(reconciled))
	}
}

// ownerRef returns a reference as controllers write it: it blocks the owner's deletion.
func ownerRef(kind string, owner metav1.Object) metav1.OwnerReference {
	apiVersion := "v1"
	if kind == "Deployment" || kind == "ReplicaSet" {
		apiVersion = "apps/v1"
	}
	return metav1.OwnerReference{
		APIVersion: apiVersion, Kind: kind, Name: owner.GetName(), UID: owner.GetUID(),
		BlockOwnerDeletion: new(true),
	}
}

func withOwners(name string, refs ...metav1.OwnerReference) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name, OwnerReferences: refs}
}

// configMap creates a ConfigMap with these owners.
func (w *world) configMap(name string, refs ...metav1.OwnerReference) *corev1.ConfigMap {
	w.Helper()
	m, err := w.Other.CoreV1().ConfigMaps("default").Create(w.ctx,
		&corev1.ConfigMap{ObjectMeta: withOwners(name, refs...)}, metav1.CreateOptions{})
	require.NoError(w, err)
	return m
}

func (w *world) podOf(name string, refs ...metav1.OwnerReference) *corev1.Pod {
	w.Helper()
	pod, err := w.Other.CoreV1().Pods("default").Create(w.ctx, &corev1.Pod{
		ObjectMeta: withOwners(name, refs...),
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	require.NoError(w, err)
	return pod
}

func cascade(policy metav1.DeletionPropagation) metav1.DeleteOptions {
	return metav1.DeleteOptions{PropagationPolicy: &policy}
}

// deleteConfigMap is kubectl delete configmap --cascade=policy.
func (w *world) deleteConfigMap(name string, policy metav1.DeletionPropagation) {
	w.Helper()
	require.NoError(w, w.Other.CoreV1().ConfigMaps("default").Delete(w.ctx, name, cascade(policy)))
}

func (w *world) node(name string) *corev1.Node {
	w.Helper()
	node, err := w.Other.CoreV1().Nodes().Create(w.ctx,
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(w, err)
	return node
}

// elsewhere creates a ConfigMap in the namespace other.
func (w *world) elsewhere(name string, refs ...metav1.OwnerReference) *corev1.ConfigMap {
	w.Helper()
	other := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
	_, err := w.Other.CoreV1().Namespaces().Create(w.ctx, other, metav1.CreateOptions{})
	require.NoError(w, err)
	obj := &corev1.ConfigMap{ObjectMeta: withOwners(name, refs...)}
	obj.Namespace = "other"
	obj, err = w.Other.CoreV1().ConfigMaps("other").Create(w.ctx, obj, metav1.CreateOptions{})
	require.NoError(w, err)
	return obj
}

func (w *world) update(obj *corev1.ConfigMap) {
	w.Helper()
	_, err := w.Other.CoreV1().ConfigMaps(obj.Namespace).Update(w.ctx, obj, metav1.UpdateOptions{})
	require.NoError(w, err)
}

func ownersIn(refs []metav1.OwnerReference) (names []string) {
	for _, ref := range refs {
		names = append(names, ref.Name)
	}
	return names
}

// A kind without a Go type has no informer, and its objects would never be collected.
func TestAGraphOfAKindThatIsNotInTheSchemeIsAnError(t *testing.T) {
	inMemory(t, func(w *world) {
		_, err := mini.NewOwnerGraph(mini.NewManager(w.Cluster), &corev1.Pod{}, &unknown{})
		require.ErrorContains(w, err, "unknown")
	})
}

type unknown struct{ corev1.Pod }

// A dependent of a ReplicaSet that was deleted and created again would never be collected.
//
// Function: GraphKind.owner
func TestAnOwnerIsFoundByKindNameAndUID(t *testing.T) {
	inMemory(t, func(w *world) {
		g, _ := w.graph()
		ref := ownerRef("ConfigMap", w.configMap("owner"))
		w.podOf("owner")
		synctest.Wait()
		found := g.Owner(ref, "default")
		require.NotNil(w, found, "the owner is in the cache, in the namespace of its dependent")
		require.Equal(w, ref.UID, found.GetUID())
		require.IsType(w, &corev1.ConfigMap{}, found)

		for what, change := range inorder.Map(map[string]func(*metav1.OwnerReference){
			"UID":   func(ref *metav1.OwnerReference) { ref.UID = "another" },
			"name":  func(ref *metav1.OwnerReference) { ref.Name = "another" },
			"kind":  func(ref *metav1.OwnerReference) { ref.Kind = "Pod" },
			"group": func(ref *metav1.OwnerReference) { ref.APIVersion = "example.com/v1" },
		}) {
			wrong := ref
			change(&wrong)
			require.Nil(w, g.Owner(wrong, "default"), "with another %s, it isn't the owner", what)
		}
		ref.APIVersion = "v1beta1"
		require.NotNil(w, g.Owner(ref, "default"), "an object can be read in any version of its group")
	})
}

// A Node, which has no namespace, may own objects in all of them.
func TestAnOwnerWithoutNamespaceIsFoundFromAnyNamespace(t *testing.T) {
	inMemory(t, func(w *world) {
		g, _ := w.graph()
		node := w.node("n")
		ref := ownerRef("Node", node)
		w.configMap("here", ref)
		w.elsewhere("there", ref)
		synctest.Wait()
		require.NotNil(w, g.Owner(ref, "default"), "a Node may own objects of any namespace")
		require.NotNil(w, g.Owner(ref, ""), "and objects without one")
		require.Equal(w, []string{"here", "there"}, names(g.Dependents(node)))
	})
}

// An object with an owner in another namespace would live or die by chance.
func TestAnObjectInAnotherNamespaceIsNotAnOwner(t *testing.T) {
	inMemory(t, func(w *world) {
		g, _ := w.graph()
		owner := w.configMap("owner")
		wrong := w.elsewhere("wrong", ownerRef("ConfigMap", owner))
		w.configMap("right", ownerRef("ConfigMap", owner))
		synctest.Wait()
		require.Nil(w, g.Owner(wrong.OwnerReferences[0], "other"))
		require.Nil(w, g.Owner(wrong.OwnerReferences[0], ""),
			"an object without a namespace can't be owned by one that has one")
		require.Equal(w, []string{"right"}, names(g.Dependents(owner)),
			"the UID alone doesn't make an object in another namespace a dependent")
	})
}

// In the foreground, a Deployment would be deleted before its dependents of some kinds.
//
// Function: GraphKind.dependents
func TestDependentsAreOfAllKinds(t *testing.T) {
	inMemory(t, func(w *world) {
		g, _ := w.graph()
		owner, other := w.configMap("owner"), w.configMap("other")
		w.configMap("map", ownerRef("ConfigMap", owner))
		w.configMap("both", ownerRef("ConfigMap", other), ownerRef("ConfigMap", owner))
		w.podOf("pod", ownerRef("ConfigMap", owner))
		w.podOf("of-other", ownerRef("ConfigMap", other))
		w.podOf("alone")
		synctest.Wait()
		require.Equal(w, []string{"both", "map", "pod"}, names(g.Dependents(owner)))
		require.Empty(w, g.Dependents(w.configMap("new")))
	})
}

// The end of an owner would leave its dependents behind if they had come before it.
func TestDependentsAreInTheGraphBeforeTheirOwnerIs(t *testing.T) {
	inMemory(t, func(w *world) {
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "watch", Resource: "configmaps"}, DelayEvents: time.Minute,
		})
		g, woken := w.graph()
		owner := w.configMap("owner")
		w.podOf("a", ownerRef("ConfigMap", owner))
		require.Equal(w, []string{"Pod a"}, woken())
		require.Nil(w, g.Owner(ownerRef("ConfigMap", owner), "default"), "its informer is late")
		require.Equal(w, []string{"a"}, names(g.Dependents(owner)))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.NotNil(w, g.Owner(ownerRef("ConfigMap", owner), "default"))
	})
}

// A reference blocks its own owner, and only if it says so. Otherwise an owner waits for
// dependents that do not block it, and may never be deleted.
//
// Function: OwnerGraph.BlockingDependents
func TestAnOwnerWaitsOnlyForBlockingDependents(t *testing.T) {
	inMemory(t, func(w *world) {
		g, _ := w.graph()
		owner, other := w.configMap("owner"), w.configMap("other")
		w.configMap("blocks", ownerRef("ConfigMap", owner))
		unset, no := ownerRef("ConfigMap", owner), ownerRef("ConfigMap", owner)
		unset.BlockOwnerDeletion, no.BlockOwnerDeletion = nil, new(false)
		w.configMap("unset", unset)
		w.configMap("no", no)
		w.configMap("blocks-another", no, ownerRef("ConfigMap", other))
		synctest.Wait()
		require.Equal(w, []string{"blocks"}, names(g.BlockingDependents(owner)))
		require.Equal(w, []string{"blocks-another"}, names(g.BlockingDependents(other)))
	})
}

// A dependent that was deleted still runs until its finalizer is removed. The owner has to outlive it.
//
// Function: OwnerGraph.BlockingDependents
func TestADependentThatIsEndingStillBlocksItsOwner(t *testing.T) {
	inMemory(t, func(w *world) {
		g, _ := w.graph()
		owner := w.configMap("owner")
		ending := w.configMap("ending", ownerRef("ConfigMap", owner))
		ending.Finalizers = []string{"example.com/slow"}
		w.update(ending)
		w.deleteConfigMap("ending", metav1.DeletePropagationBackground)
		synctest.Wait()
		require.Equal(w, []string{"ending"}, names(g.BlockingDependents(owner)))
	})
}

// An object that's created after its owner was deleted would never be collected.
func TestEachChangeOfAnObjectWakesIt(t *testing.T) {
	inMemory(t, func(w *world) {
		_, woken := w.graph()
		obj := w.configMap("a")
		require.Equal(w, []string{"ConfigMap a"}, woken())
		obj.Data = map[string]string{"k": "v"}
		w.update(obj)
		require.Equal(w, []string{"ConfigMap a"}, woken())
	})
}

// Dependents would be left behind.
func TestTheDeletionOfAnOwnerWakesItsDependents(t *testing.T) {
	for name, policy := range inorder.Map(map[string]metav1.DeletionPropagation{
		"gone": metav1.DeletePropagationBackground, "in the foreground": metav1.DeletePropagationForeground,
	}) {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(w *world) {
				_, woken := w.graph()
				owner := w.configMap("owner")
				w.configMap("a", ownerRef("ConfigMap", owner))
				w.podOf("b", ownerRef("ConfigMap", owner))
				w.podOf("alone")
				woken()
				owner.Data = map[string]string{"k": "v"}
				w.update(owner)
				require.Equal(w, []string{"ConfigMap owner"}, woken(), "a change of the owner is no reason to look at its dependents")
				w.deleteConfigMap("owner", policy)
				require.Equal(w, []string{"ConfigMap a", "ConfigMap owner", "Pod b"}, woken())
			})
		})
	}
}

// An owner would wait forever for a dependent that was deleted or released.
func TestADependentWakesAnOwnerThatIsWaitingForIt(t *testing.T) {
	inMemory(t, func(w *world) {
		_, woken := w.graph()
		owner, other := w.configMap("owner"), w.configMap("other")
		dependent := w.configMap("a", ownerRef("ConfigMap", owner), ownerRef("ConfigMap", other))
		pod := w.podOf("b", ownerRef("ConfigMap", owner))
		w.podOf("other", ownerRef("ConfigMap", other))
		w.deleteConfigMap("owner", metav1.DeletePropagationForeground)
		woken()
		require.NoError(w, w.Other.CoreV1().Pods("default").Delete(w.ctx, pod.Name, metav1.DeleteOptions{}))
		require.Equal(w, []string{"ConfigMap owner", "Pod b"}, woken())
		dependent.OwnerReferences = dependent.OwnerReferences[1:]
		w.update(dependent)
		require.Equal(w, []string{"ConfigMap a", "ConfigMap owner"}, woken(),
			"the owner is not waiting for it any more; only its old state says so")
	})
}

// Each new Pod of a healthy cluster would cost a request.
//
// Function: OwnerGraph.ClassifyReferences
func TestAnOwnerThatTheCacheShowsIsSolid(t *testing.T) {
	inMemory(t, func(w *world) {
		g, _ := w.graph()
		item := w.podOf("a", ownerRef("ConfigMap", w.configMap("owner")), ownerRef("Node", w.node("n")))
		synctest.Wait()
		solid, waiting, err := g.ClassifyReferences(w.ctx, item)
		require.NoError(w, err)
		require.Equal(w, item.OwnerReferences, solid)
		require.Empty(w, waiting)
		require.Empty(w, w.Server.Requests(fakeapi.Match{Verb: "get"}),
			"the cache shows the owner, and a healthy cluster should cost no requests")
	})
}

// The collector would delete live Pods.
//
// Function: OwnerGraph.ClassifyReferences
func TestAnOwnerThatTheCacheDoesNotShowIsLookedUpOnTheServer(t *testing.T) {
	inMemory(t, func(w *world) {
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "watch", Resource: "configmaps"}, DelayEvents: time.Minute,
		})
		g, _ := w.graph()
		item := w.podOf("a", ownerRef("ConfigMap", w.configMap("owner")))
		solid, waiting, err := g.ClassifyReferences(w.ctx, item)
		require.NoError(w, err)
		require.Equal(w, []string{"owner"}, ownersIn(solid),
			"the owner lives, but its informer is late: its dependents would be deleted")
		require.Empty(w, waiting)
	})
}

// Objects whose owner was deleted would stay forever.
//
// Function: OwnerGraph.ClassifyReferences
func TestAnOwnerIsAbsentIfTheServerHasNoObjectOfThatNameAndUID(t *testing.T) {
	inMemory(t, func(w *world) {
		g, _ := w.graph()
		alive := w.configMap("alive")
		gone := ownerRef("ConfigMap", alive)
		gone.Name = "gone"
		replaced := ownerRef("ConfigMap", alive)
		replaced.UID = "of-its-predecessor"
		item := w.podOf("a", gone, ownerRef("ConfigMap", alive), replaced)
		solid, waiting, err := g.ClassifyReferences(w.ctx, item)
		require.NoError(w, err)
		require.Equal(w, []string{"alive"}, ownersIn(solid), "one owner lives; the first and the last were deleted")
		require.Equal(w, alive.UID, solid[0].UID)
		require.Empty(w, waiting)
		wrong := w.elsewhere("wrong", ownerRef("ConfigMap", alive))
		solid, waiting, err = g.ClassifyReferences(w.ctx, wrong)
		require.NoError(w, err)
		require.Empty(w, solid, "in this namespace, there is no such owner")
		require.Empty(w, waiting)
	})
}

// Only the finalizer says that an owner waits for its dependents. An owner with another
// finalizer may need its dependents until it's deleted.
//
// Function: OwnerGraph.ClassifyReferences
func TestAnOwnerThatIsDeletedInTheForegroundIsWaiting(t *testing.T) {
	inMemory(t, func(w *world) {
		g, _ := w.graph()
		owner, other, alive := w.configMap("owner"), w.configMap("other"), w.configMap("alive")
		other.Finalizers = []string{"example.com/theirs"}
		w.update(other)
		alive.Finalizers = []string{metav1.FinalizerDeleteDependents} // for the day when it is deleted
		w.update(alive)
		item := w.podOf("a", ownerRef("ConfigMap", owner), ownerRef("ConfigMap", other), ownerRef("ConfigMap", alive))
		w.deleteConfigMap("owner", metav1.DeletePropagationForeground)
		w.deleteConfigMap("other", metav1.DeletePropagationBackground)
		synctest.Wait()
		solid, waiting, err := g.ClassifyReferences(w.ctx, item)
		require.NoError(w, err)
		require.Equal(w, []string{"owner"}, ownersIn(waiting))
		require.Equal(w, []string{"other", "alive"}, ownersIn(solid),
			"one is being deleted, but doesn't wait for its dependents; the other isn't being deleted")
	})
}

// An owner may wait for a finalizer for days. Its dependents stay until it has been deleted, and until then each of their changes
// would cost a request.
//
// Function: OwnerGraph.ClassifyReferences
func TestAnOwnerThatIsDeletedInTheBackgroundIsSolidUntilItIsGone(t *testing.T) {
	inMemory(t, func(w *world) {
		g, _ := w.graph()
		owner := w.configMap("owner")
		owner.Finalizers = []string{"example.com/slow"}
		w.update(owner)
		item := w.podOf("a", ownerRef("ConfigMap", owner))
		w.deleteConfigMap("owner", metav1.DeletePropagationBackground)
		synctest.Wait()
		w.Server.ForgetRequests()
		solid, waiting, err := g.ClassifyReferences(w.ctx, item)
		require.NoError(w, err)
		require.Equal(w, item.OwnerReferences, solid)
		require.Empty(w, waiting)
		require.Empty(w, w.Server.Requests(fakeapi.Match{Verb: "get"}), "the cache shows the owner")
	})
}

// A missing permission would delete the objects whose owners it hides.
//
// Function: OwnerGraph.ClassifyReferences
func TestAnOwnerThatCannotBeReadGivesNoVerdict(t *testing.T) {
	named := fakeapi.Forbidden() // a real one names the object
	named.Details = &metav1.StatusDetails{Name: "gone"}
	for what, status := range inorder.Map(map[string]*metav1.Status{
		"forbidden": named, "an error without a name": fakeapi.InternalError(),
		"404 without details": {Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound},
	}) {
		t.Run(what, func(t *testing.T) {
			inMemory(t, func(w *world) {
				g, _ := w.graph()
				w.Server.Inject(fakeapi.Fault{
					Match: fakeapi.Match{Verb: "get", Resource: "secrets"}, Status: status,
				})
				gone := metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: "gone", UID: "gone"}
				item := w.podOf("a", ownerRef("ConfigMap", w.configMap("owner")), gone)
				synctest.Wait()
				solid, waiting, err := g.ClassifyReferences(w.ctx, item)
				require.Error(w, err, "the API server hasn't said that the owner was deleted")
				require.Empty(w, solid)
				require.Empty(w, waiting)
			})
		})
	}
}

// The dependents of a waiting owner are deleted, so the cache is not enough.
//
// Function: OwnerGraph.ClassifyReferences
func TestAWaitingOwnerIsAlsoLookedUpOnTheServer(t *testing.T) {
	inMemory(t, func(w *world) {
		g, _ := w.graph()
		owner := w.configMap("owner")
		item := w.podOf("a", ownerRef("ConfigMap", owner))
		w.deleteConfigMap("owner", metav1.DeletePropagationForeground)
		synctest.Wait()
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "get", Resource: "configmaps"}, Times: 1, Status: fakeapi.Forbidden(),
		})
		_, _, err := g.ClassifyReferences(w.ctx, item)
		require.Error(w, err, "its finalizer may have been removed since: only the API server knows")
	})
}

// Objects whose owner is of a kind that the collector doesn't watch would be deleted.
//
// Function: OwnerGraph.ClassifyReferences
func TestOwnersOfOtherKindsAreLookedUpOnTheServer(t *testing.T) {
	inMemory(t, func(w *world) {
		g, _ := w.graph()
		secret, err := w.Other.CoreV1().Secrets("default").Create(w.ctx, &corev1.Secret{ObjectMeta: withOwners("s")}, metav1.CreateOptions{})
		require.NoError(w, err)
		namespace, err := w.Other.CoreV1().Namespaces().Get(w.ctx, "default", metav1.GetOptions{})
		require.NoError(w, err)
		item := w.podOf("a", ownerRef("Secret", secret), ownerRef("Namespace", namespace))
		solid, waiting, err := g.ClassifyReferences(w.ctx, item)
		require.NoError(w, err, "an owner may have a namespace or not, and the reference does not say which")
		require.Equal(w, []string{"s", "default"}, ownersIn(solid))
		require.Empty(w, waiting)
	})
}

// Everything that a custom resource owns would be deleted while its CRD is missing.
func TestAKindThatTheServerDoesNotServeDoesNotMakeAnOwnerAbsent(t *testing.T) {
	for _, apiVersion := range []string{"v1", "example.com/v1"} {
		t.Run(apiVersion, func(t *testing.T) {
			inMemory(t, func(w *world) {
				g, _ := w.graph()
				banana := metav1.OwnerReference{APIVersion: apiVersion, Kind: "Banana", Name: "b", UID: "b"}
				_, _, err := g.ClassifyReferences(w.ctx, w.podOf("a", banana))
				require.ErrorContains(w, err, "Banana",
					"the 404 is about the path: the object may be back when its CRD is, and its dependents must not be deleted")
			})
		})
	}
}

// A Node with a wrong reference would be deleted.
func TestAnObjectWithoutNamespaceCannotHaveAnOwnerInOne(t *testing.T) {
	inMemory(t, func(w *world) {
		g, _ := w.graph()
		node := w.node("n")
		node.OwnerReferences = []metav1.OwnerReference{ownerRef("ConfigMap", w.configMap("owner"))}
		synctest.Wait()
		_, _, err := g.ClassifyReferences(w.ctx, node)
		require.Error(w, err, "in which namespace should it look for the owner?")
	})
}

// Everything that a custom resource owns would be deleted when a proxy loses its API server, or sends
// its login page.
func TestAWebPageIsNotTheAPIServersWordAboutAnOwner(t *testing.T) {
	pages := maps.Clone(notFoundPages)
	pages["a login page"] = func(r *http.Response) { page(r, http.StatusOK, "text/html", "<html>log in</html>") }
	pages["a login as JSON"] = func(r *http.Response) { page(r, http.StatusOK, "application/json", `{"log":"in"}`) }
	pages["nothing"] = func(r *http.Response) { page(r, http.StatusOK, "application/json", "") }
	pages["another object"] = func(r *http.Response) {
		page(r, http.StatusOK, "application/json", `{"metadata":{"name":"else","uid":"else"}}`)
	}
	for what, answer := range inorder.Map(pages) {
		t.Run(what, func(t *testing.T) {
			inMemory(t, func(w *world) {
				w.Cluster = w.behindProxy(func(r *http.Request, response *http.Response) {
					if strings.HasSuffix(r.URL.Path, "/secrets/owner") {
						answer(response)
					}
				})
				g, _ := w.graph()
				owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: "owner", UID: "owner"}
				_, _, err := g.ClassifyReferences(w.ctx, w.podOf("a", owner))
				require.Error(w, err, "the API server hasn't said that the owner was deleted")
				if says := map[string]string{
					"a login page":    `invalid character '<' looking for beginning of value in "<html>log in`,
					"nothing":         `unexpected end of JSON input in ""`,
					"a login as JSON": `expected the owner owner, got "{\"log\":\"in\"}"`,
				}[what]; says != "" {
					require.ErrorContains(w, err, says, "the error quotes the answer, and says what's wrong with it")
				}
			})
		})
	}
}

// A guessed plural has no path: "gatewaies". What a Gateway owns would never be collected.
func TestThePathOfAnOwnerIsNotGuessed(t *testing.T) {
	inMemory(t, func(w *world) {
		w.Server.Register(fakeapi.Kind{Group: "example.com", Version: "v1", Kind: "Gateway", Resource: "gateways"})
		asked := 0
		w.Cluster = w.behindProxy(func(r *http.Request, response *http.Response) {
			if r.URL.Path != "/apis/example.com/v1" {
				return
			}
			if asked++; asked == 1 {
				notFoundPages["a load balancer's text"](response)
			}
		})
		g, _ := w.graph()
		gateway := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Gateway",
			"metadata": map[string]any{"namespace": "default", "name": "g"},
		}}
		gateways := dynamic.NewForConfigOrDie(w.Server.Config()).Resource(
			schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gateways"}).Namespace("default")
		gateway, err := gateways.Create(w.ctx, gateway, metav1.CreateOptions{})
		require.NoError(w, err)
		ref := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Gateway", Name: "g", UID: gateway.GetUID()}
		item := w.podOf("a", ref)
		_, _, err = g.ClassifyReferences(w.ctx, item)
		require.ErrorContains(w, err, "default backend - 404", "a page says nothing about a kind")
		for range 3 {
			solid, _, err := g.ClassifyReferences(w.ctx, item)
			require.NoError(w, err, "a failure must not be remembered")
			require.Equal(w, []string{"g"}, ownersIn(solid))
		}
		require.Equal(w, 2, asked, "an answer is remembered")
		require.NoError(w, gateways.Delete(w.ctx, "g", metav1.DeleteOptions{}))
		solid, _, err := g.ClassifyReferences(w.ctx, item)
		require.NoError(w, err)
		require.Empty(w, solid)
	})
}

// A recreated CRD may have another plural, or no namespaces.
func TestAPathThatIsNoLongerServedIsLookedUpAgain(t *testing.T) {
	inMemory(t, func(w *world) {
		kind := fakeapi.Kind{Group: "example.com", Version: "v1", Kind: "Gateway", Resource: "gateways"}
		w.Server.Register(kind)
		g, _ := w.graph()
		item := w.podOf("a", metav1.OwnerReference{
			APIVersion: "example.com/v1", Kind: "Gateway", Name: "g", UID: "gone"})
		solid, _, err := g.ClassifyReferences(w.ctx, item)
		require.NoError(w, err)
		require.Empty(w, solid)
		w.Server.Unregister(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gateways"})
		kind.Resource = "gatewayz"
		w.Server.Register(kind)
		_, _, err = g.ClassifyReferences(w.ctx, item)
		require.Error(w, err)
		_, _, err = g.ClassifyReferences(w.ctx, item)
		require.NoError(w, err)
	})
}
