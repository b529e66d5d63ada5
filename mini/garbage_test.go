package mini_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// runGarbage runs a manager with the garbage collector for Deployments, ReplicaSets, Pods
// and ConfigMaps.
func (w *world) runGarbage() {
	w.Helper()
	m := mini.NewManager(w.Cluster)
	all, err := mini.NewGarbageCollector(m,
		&appsv1.Deployment{}, &appsv1.ReplicaSet{}, &corev1.Pod{}, &corev1.ConfigMap{})
	require.NoError(w, err)
	for _, c := range all {
		m.AddController(c)
	}
	w.run(m.Run)
}

// tree creates Deployment web -> ReplicaSet web -> Pods a and b, which have no node and so
// end at once when they are deleted.
func (w *world) tree() (*appsv1.Deployment, *appsv1.ReplicaSet) {
	w.Helper()
	rs := replicaSet("web", 2)
	d, err := w.Other.AppsV1().Deployments("default").Create(w.ctx, &appsv1.Deployment{
		ObjectMeta: withOwners("web"),
		Spec:       appsv1.DeploymentSpec{Selector: rs.Spec.Selector, Template: rs.Spec.Template},
	}, metav1.CreateOptions{})
	require.NoError(w, err)
	rs.OwnerReferences = []metav1.OwnerReference{ownerRef("Deployment", d)}
	rs, err = w.Other.AppsV1().ReplicaSets("default").Create(w.ctx, rs, metav1.CreateOptions{})
	require.NoError(w, err)
	w.podOf("a", ownerRef("ReplicaSet", rs))
	w.podOf("b", ownerRef("ReplicaSet", rs))
	return d, rs
}

// left lists what the API server has when all is quiet: kind/name, and "-" if it is
// being deleted.
func (w *world) left() (all []string) {
	w.Helper()
	synctest.Wait()
	add := func(kind string, obj metav1.Object) {
		if obj.GetDeletionTimestamp() != nil {
			kind = "-" + kind
		}
		all = append(all, kind+"/"+obj.GetName())
	}
	deployments, err := w.Other.AppsV1().Deployments("").List(w.ctx, metav1.ListOptions{})
	require.NoError(w, err)
	for _, obj := range deployments.Items {
		add("deployment", &obj)
	}
	sets, err := w.Other.AppsV1().ReplicaSets("").List(w.ctx, metav1.ListOptions{})
	require.NoError(w, err)
	for _, obj := range sets.Items {
		add("replicaset", &obj)
	}
	pods, err := w.Other.CoreV1().Pods("").List(w.ctx, metav1.ListOptions{})
	require.NoError(w, err)
	for _, obj := range pods.Items {
		add("pod", &obj)
	}
	maps, err := w.Other.CoreV1().ConfigMaps("").List(w.ctx, metav1.ListOptions{})
	require.NoError(w, err)
	for _, obj := range maps.Items {
		add("configmap", &obj)
	}
	slices.Sort(all)
	return all
}

func (w *world) deleteDeployment(policy metav1.DeletionPropagation) {
	w.Helper()
	require.NoError(w, w.Other.AppsV1().Deployments("default").Delete(w.ctx, "web", cascade(policy)))
}

// refs are the names of the owners that a ConfigMap has left.
func (w *world) refs(name string) (owners []string) {
	w.Helper()
	synctest.Wait()
	m, err := w.Other.CoreV1().ConfigMaps("default").Get(w.ctx, name, metav1.GetOptions{})
	require.NoError(w, err)
	for _, ref := range m.OwnerReferences {
		owners = append(owners, ref.Name)
	}
	return owners
}

var wholeTree = []string{"deployment/web", "pod/a", "pod/b", "replicaset/web"}

// Deleted Deployments would leave their Pods running.
func TestABackgroundDeletionDeletesDependentsAfterTheirOwner(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runGarbage()
		w.tree()
		w.podOf("alone")
		require.Equal(w, []string{"deployment/web", "pod/a", "pod/alone", "pod/b", "replicaset/web"}, w.left())
		w.deleteDeployment(metav1.DeletePropagationBackground)
		require.Equal(w, []string{"pod/alone"}, w.left(), "an object without an owner is never garbage")
		require.True(w, slices.ContainsFunc(w.Cluster.Trace.Events(), func(e trace.Event) bool {
			return e.Kind == trace.ReconcileEnd && e.Layer == "garbage-replicaset"
		}), "the flight recorder shows each kind's controller")
		require.Empty(w, w.Server.Requests(fakeapi.Match{Verb: "patch", Resource: "pods"}), "a Pod has no dependents to wait for")
	})
}

// The collector would delete a healthy cluster.
func TestAnObjectWithALivingOwnerStays(t *testing.T) {
	inMemory(t, func(w *world) {
		w.tree()
		w.runGarbage()
		require.Equal(w, wholeTree, w.left())
		require.Empty(w, w.Server.Requests(fakeapi.Match{Verb: "delete"}))
	})
}

// Each new Pod would cost a request.
func TestAHealthyClusterCostsNoRequests(t *testing.T) {
	inMemory(t, func(w *world) {
		w.tree()
		w.runGarbage()
		synctest.Wait()
		require.Empty(w, w.Server.Requests(fakeapi.Match{Verb: "get"}), "the cache shows the owners")
	})
}

// The objects of a kind that has no Go type would never be collected, and no error would
// say so.
func TestAKindThatIsNotInTheSchemeIsAnError(t *testing.T) {
	inMemory(t, func(w *world) {
		_, err := mini.NewGarbageCollector(mini.NewManager(w.Cluster), &appsv1.Deployment{}, &unknown{})
		require.Error(w, err)
	})
}

// Objects that lost their owner during a restart would stay forever.
func TestDependentsAreFoundThatLostTheirOwnerWhileTheCollectorWasDown(t *testing.T) {
	inMemory(t, func(w *world) {
		w.tree()
		w.deleteDeployment(metav1.DeletePropagationBackground)
		w.runGarbage()
		require.Empty(w, w.left())
	})
}

// A Pod that a slow controller creates for a deleted ReplicaSet would run forever.
func TestADependentThatComesAfterItsOwnerWasDeletedIsDeleted(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runGarbage()
		owner := w.configMap("owner")
		synctest.Wait()
		w.deleteConfigMap("owner", metav1.DeletePropagationBackground)
		synctest.Wait()
		w.configMap("late", ownerRef("ConfigMap", owner))
		require.Empty(w, w.left())
		w.configMap("later", ownerRef("ConfigMap", owner))
		require.Empty(w, w.left())
	})
}

// The Pods of a ReplicaSet that was deleted would stay, because another one has its name.
func TestAnOwnerThatWasReplacedUnderItsNameIsAbsent(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runGarbage()
		owner := w.configMap("owner")
		w.configMap("dependent", ownerRef("ConfigMap", owner))
		synctest.Wait()
		w.deleteConfigMap("owner", metav1.DeletePropagationBackground)
		again := w.configMap("owner")
		w.configMap("new", ownerRef("ConfigMap", again))
		require.Equal(w, []string{"configmap/new", "configmap/owner"}, w.left())
	})
}

// An object with one living owner stays, without the references to the others. If the
// object kept its reference to a waiting owner, that owner would wait forever.
//
// Function: garbageCollector.attemptToDeleteItem
func TestReferencesToDeadOwnersAreRemovedIfALivingOneIsLeft(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runGarbage()
		one, two, three := w.configMap("one"), w.configMap("two"), w.configMap("three")
		w.configMap("shared", ownerRef("ConfigMap", one), ownerRef("ConfigMap", two), ownerRef("ConfigMap", three))
		w.deleteConfigMap("two", metav1.DeletePropagationBackground)
		require.Equal(w, []string{"one", "three"}, w.refs("shared"))
		w.deleteConfigMap("one", metav1.DeletePropagationForeground)
		require.Equal(w, []string{"three"}, w.refs("shared"))
		w.deleteConfigMap("three", metav1.DeletePropagationBackground)
		require.Empty(w, w.left())
	})
}

// Pods that a user wanted to keep would be deleted.
func TestAnOrphanDeletionLeavesTheDependentsWithoutTheOwner(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runGarbage()
		w.tree()
		synctest.Wait()
		w.deleteDeployment(metav1.DeletePropagationOrphan)
		require.Equal(w, []string{"pod/a", "pod/b", "replicaset/web"}, w.left())
		rs, err := w.Other.AppsV1().ReplicaSets("default").Get(w.ctx, "web", metav1.GetOptions{})
		require.NoError(w, err)
		require.Empty(w, rs.OwnerReferences)
		pod, err := w.Other.CoreV1().Pods("default").Get(w.ctx, "a", metav1.GetOptions{})
		require.NoError(w, err)
		require.Len(w, pod.OwnerReferences, 1, "the ReplicaSet still owns its Pods")
		require.Empty(w, w.Server.Requests(fakeapi.Match{Verb: "patch", Resource: "pods"}), "the Pods have nothing to do with the Deployment")
	})
}

// The collector would take away what belongs to others.
func TestAnOrphanDeletionKeepsOtherOwnersAndOtherFinalizers(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runGarbage()
		one, two := w.configMap("one"), w.configMap("two")
		w.configMap("shared", ownerRef("ConfigMap", one), ownerRef("ConfigMap", two))
		one.Finalizers = []string{"example.com/theirs"}
		_, err := w.Other.CoreV1().ConfigMaps("default").Update(w.ctx, one, metav1.UpdateOptions{})
		require.NoError(w, err)
		w.deleteConfigMap("one", metav1.DeletePropagationOrphan)
		require.Equal(w, []string{"two"}, w.refs("shared"))
		require.Equal(w, []string{"-configmap/one", "configmap/shared", "configmap/two"}, w.left())
		one, err = w.Other.CoreV1().ConfigMaps("default").Get(w.ctx, "one", metav1.GetOptions{})
		require.NoError(w, err)
		require.Equal(w, []string{"example.com/theirs"}, one.Finalizers)
		require.Len(w, w.Server.Requests(fakeapi.Match{Verb: "patch", Name: "one"}), 1, "after that, it waits for others")
	})
}

// The owner must not go before all of its dependents are orphans: they would be deleted.
func TestAnOrphanDeletionWaitsForADependentThatCannotBePatched(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runGarbage()
		w.configMap("dependent", ownerRef("ConfigMap", w.configMap("owner")))
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "patch", Name: "dependent"}, Times: 1, Status: fakeapi.InternalError(),
		})
		w.deleteConfigMap("owner", metav1.DeletePropagationOrphan)
		time.Sleep(time.Minute)
		require.Equal(w, []string{"configmap/dependent"}, w.left())
	})
}

// A Pod that's still new when its owner is deleted would be deleted with it.
func TestAnOrphanDeletionFindsDependentsThatTheCacheDoesNotShowYet(t *testing.T) {
	inMemory(t, func(w *world) {
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "watch", Resource: "pods"}, DelayEvents: time.Minute,
		})
		w.runGarbage()
		synctest.Wait()
		_, rs := w.tree()
		require.NoError(w, w.Other.AppsV1().ReplicaSets("default").Delete(w.ctx, rs.Name, cascade(metav1.DeletePropagationOrphan)))
		require.Equal(w, []string{"deployment/web", "pod/a", "pod/b"}, w.left())
		time.Sleep(10 * time.Minute)
		require.Equal(w, []string{"deployment/web", "pod/a", "pod/b"}, w.left())
	})
}

// A user who sees that the Deployment was deleted would find its Pods still running.
func TestAForegroundDeletionDeletesTheOwnerAfterItsDependents(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runGarbage()
		w.tree()
		pod, err := w.Other.CoreV1().Pods("default").Get(w.ctx, "a", metav1.GetOptions{})
		require.NoError(w, err)
		pod.Finalizers = []string{"example.com/slow"}
		_, err = w.Other.CoreV1().Pods("default").Update(w.ctx, pod, metav1.UpdateOptions{})
		require.NoError(w, err)
		synctest.Wait() // an owner waits for the dependents that the cache shows
		w.deleteDeployment(metav1.DeletePropagationForeground)
		require.Equal(w, []string{"-deployment/web", "-pod/a", "-replicaset/web"}, w.left(),
			"the owners wait for the last Pod")
		pod, err = w.Other.CoreV1().Pods("default").Get(w.ctx, "a", metav1.GetOptions{})
		require.NoError(w, err)
		pod.Finalizers = nil
		_, err = w.Other.CoreV1().Pods("default").Update(w.ctx, pod, metav1.UpdateOptions{})
		require.NoError(w, err)
		require.Empty(w, w.left())
		require.Empty(w, w.Server.Requests(fakeapi.Match{Verb: "patch", Resource: "pods"}), "a Pod has no dependents to wait for")
	})
}

// An owner would wait for dependents that do not block it.
func TestAForegroundDeletionWaitsOnlyForBlockingDependents(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runGarbage()
		owner := w.configMap("owner")
		for name, blocks := range inorder.Map(map[string]*bool{"no": new(false), "unset": nil}) {
			ref := ownerRef("ConfigMap", owner)
			ref.BlockOwnerDeletion = blocks
			m, err := w.Other.CoreV1().ConfigMaps("default").Create(w.ctx, &corev1.ConfigMap{ObjectMeta: withOwners(name, ref)}, metav1.CreateOptions{})
			require.NoError(w, err)
			m.Finalizers = []string{"example.com/slow"}
			_, err = w.Other.CoreV1().ConfigMaps("default").Update(w.ctx, m, metav1.UpdateOptions{})
			require.NoError(w, err)
		}
		w.deleteConfigMap("owner", metav1.DeletePropagationForeground)
		require.Equal(w, []string{"-configmap/no", "-configmap/unset"}, w.left())
	})
}

// An owner would wait forever for an object that's no longer its dependent.
func TestAnOwnerStopsWaitingForADependentThatStopsBlocking(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runGarbage()
		owner := w.configMap("owner")
		m := w.configMap("dependent", ownerRef("ConfigMap", owner))
		m.Finalizers = []string{"example.com/slow"}
		_, err := w.Other.CoreV1().ConfigMaps("default").Update(w.ctx, m, metav1.UpdateOptions{})
		require.NoError(w, err)
		w.deleteConfigMap("owner", metav1.DeletePropagationForeground)
		require.Equal(w, []string{"-configmap/dependent", "-configmap/owner"}, w.left())
		m, err = w.Other.CoreV1().ConfigMaps("default").Get(w.ctx, "dependent", metav1.GetOptions{})
		require.NoError(w, err)
		m.OwnerReferences = nil
		_, err = w.Other.CoreV1().ConfigMaps("default").Update(w.ctx, m, metav1.UpdateOptions{})
		require.NoError(w, err)
		require.Equal(w, []string{"-configmap/dependent"}, w.left())
	})
}

// A restart of the collector would leave owners that wait forever.
func TestAForegroundDeletionGoesOnAfterARestart(t *testing.T) {
	inMemory(t, func(w *world) {
		w.tree()
		w.deleteDeployment(metav1.DeletePropagationForeground)
		w.runGarbage()
		require.Empty(w, w.left())
	})
}

// Objects that own each other would wait for each other forever.
//
// Function: garbageCollector.attemptToDeleteItem
func TestACircleOfOwnersIsDeleted(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runGarbage()
		a := w.configMap("a")
		b := w.configMap("b", ownerRef("ConfigMap", a))
		c := w.configMap("c", ownerRef("ConfigMap", b))
		a.OwnerReferences = []metav1.OwnerReference{ownerRef("ConfigMap", c)}
		_, err := w.Other.CoreV1().ConfigMaps("default").Update(w.ctx, a, metav1.UpdateOptions{})
		require.NoError(w, err)
		require.Len(w, w.left(), 3)
		w.Server.Inject(fakeapi.Fault{ // the first of the requests that open the circle
			Match: fakeapi.Match{Verb: "patch", Name: "c"}, Times: 1, Status: fakeapi.InternalError(),
		})
		w.deleteConfigMap("a", metav1.DeletePropagationForeground)
		time.Sleep(time.Minute)
		require.Empty(w, w.left(), "they wait for each other forever")
	})
}

// The deletion of a dependent's own dependent is no reason to change what has a living owner.
//
// Function: garbageCollector.attemptToDeleteItem
func TestADependentOfALivingOwnerKeepsBlockingIt(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runGarbage()
		middle := w.configMap("middle", ownerRef("ConfigMap", w.configMap("owner")))
		leaf := w.configMap("leaf", ownerRef("ConfigMap", middle))
		keep := func(m *corev1.ConfigMap) {
			m.Finalizers = []string{"example.com/slow"}
			_, err := w.Other.CoreV1().ConfigMaps("default").Update(w.ctx, m, metav1.UpdateOptions{})
			require.NoError(w, err)
		}
		keep(w.configMap("stuck", ownerRef("ConfigMap", leaf)))
		w.deleteConfigMap("leaf", metav1.DeletePropagationForeground)
		synctest.Wait()
		keep(middle) // the change makes the collector decide about it again
		require.Equal(w, []string{"-configmap/leaf", "-configmap/stuck", "configmap/middle", "configmap/owner"}, w.left())
		middle, err := w.Other.CoreV1().ConfigMaps("default").Get(w.ctx, "middle", metav1.GetOptions{})
		require.NoError(w, err)
		require.True(w, *middle.OwnerReferences[0].BlockOwnerDeletion, "its owner would not wait for it")
	})
}

// The leaf was deleted and waits for its finalizer, but not for dependents of its own: there's no circle. So the owner still has to
// wait for the object in the middle.
//
// Function: garbageCollector.attemptToDeleteItem
func TestADependentThatIsEndingIsNoSignOfACircle(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runGarbage()
		middle := w.configMap("middle", ownerRef("ConfigMap", w.configMap("owner")))
		leaf := w.configMap("leaf", ownerRef("ConfigMap", middle))
		leaf.Finalizers = []string{"example.com/slow"}
		w.update(leaf)
		w.deleteConfigMap("leaf", metav1.DeletePropagationBackground)
		synctest.Wait()
		w.deleteConfigMap("owner", metav1.DeletePropagationForeground)
		require.Equal(w, []string{"-configmap/leaf", "-configmap/middle", "-configmap/owner"}, w.left(),
			"the owner has gone before its dependent")
	})
}

// A collector that deletes what is being deleted already keeps the API server busy.
func TestADependentIsDeletedOnce(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runGarbage()
		dependent := w.configMap("dependent", ownerRef("ConfigMap", w.configMap("owner")))
		dependent.Finalizers = []string{"example.com/slow"}
		_, err := w.Other.CoreV1().ConfigMaps("default").Update(w.ctx, dependent, metav1.UpdateOptions{})
		require.NoError(w, err)
		synctest.Wait()
		w.deleteConfigMap("owner", metav1.DeletePropagationBackground)
		require.Equal(w, []string{"-configmap/dependent"}, w.left())
		require.Len(w, w.Server.Requests(fakeapi.Match{Verb: "delete", Name: "dependent"}), 1)
	})
}

// An object that can't be read may be garbage.
func TestAnObjectThatCannotBeReadIsAFailure(t *testing.T) {
	inMemory(t, func(w *world) {
		all, err := mini.NewGarbageCollector(mini.NewManager(w.Cluster), &corev1.ConfigMap{}) // no cache runs
		require.NoError(w, err)
		impatient, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		_, err = all[0].Reconciler.Reconcile(impatient, request("a"))
		require.Error(w, err)
	})
}

// A finalizer on the dependent says what should become of its own dependents.
//
// Function: garbageCollector.attemptToDeleteItem
func TestACollectedDependentKeepsItsOwnDeletionPolicy(t *testing.T) {
	for finalizer, left := range inorder.Map(map[string][]string{
		metav1.FinalizerOrphanDependents: {"configmap/leaf"},
		metav1.FinalizerDeleteDependents: {"-configmap/leaf", "-configmap/middle"}, // one waits for the other
	}) {
		t.Run(finalizer, func(t *testing.T) {
			inMemory(t, func(w *world) {
				w.runGarbage()
				root := w.configMap("root")
				middle := w.configMap("middle", ownerRef("ConfigMap", root))
				leaf := w.configMap("leaf", ownerRef("ConfigMap", middle))
				leaf.Finalizers = []string{"example.com/slow"}
				_, err := w.Other.CoreV1().ConfigMaps("default").Update(w.ctx, leaf, metav1.UpdateOptions{})
				require.NoError(w, err)
				middle.Finalizers = []string{finalizer}
				_, err = w.Other.CoreV1().ConfigMaps("default").Update(w.ctx, middle, metav1.UpdateOptions{})
				require.NoError(w, err)
				synctest.Wait()
				w.Server.ForgetRequests()
				w.deleteConfigMap("root", metav1.DeletePropagationBackground)
				require.Equal(w, left, w.left())
			})
		})
	}
}

// An object with an owner in another namespace would live or die by chance.
func TestAnOwnerInAnotherNamespaceIsNotAnOwner(t *testing.T) {
	inMemory(t, func(w *world) {
		_, err := w.Other.CoreV1().Namespaces().Create(w.ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{})
		require.NoError(w, err)
		w.runGarbage()
		owner := w.configMap("owner")
		w.configMap("right", ownerRef("ConfigMap", owner))
		wrong := &corev1.ConfigMap{ObjectMeta: withOwners("wrong", ownerRef("ConfigMap", owner))}
		wrong.Namespace = "other"
		_, err = w.Other.CoreV1().ConfigMaps("other").Create(w.ctx, wrong, metav1.CreateOptions{})
		require.NoError(w, err)
		named := ownerRef("ConfigMap", owner)
		named.Name = "misspelt"
		w.configMap("misspelt-owner", named)
		require.Equal(w, []string{"configmap/owner", "configmap/right"}, w.left())
		w.configMap("late", ownerRef("ConfigMap", owner))
		require.Equal(w, []string{"configmap/late", "configmap/owner", "configmap/right"}, w.left(),
			"the wrong references must not make the owner absent for the right ones")
	})
}

// Objects whose owner is of a kind that the collector doesn't watch would be deleted.
func TestOwnersOfOtherKindsAreLookedUp(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runGarbage()
		node, err := w.Other.CoreV1().Nodes().Create(w.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.CreateOptions{})
		require.NoError(w, err)
		secret, err := w.Other.CoreV1().Secrets("default").Create(w.ctx, &corev1.Secret{ObjectMeta: withOwners("s")}, metav1.CreateOptions{})
		require.NoError(w, err)
		w.configMap("of-node", ownerRef("Node", node))
		w.configMap("of-secret", ownerRef("Secret", secret))
		gone := ownerRef("Node", node)
		gone.Name = "gone"
		w.configMap("of-no-node", gone)
		gone = ownerRef("Secret", secret)
		gone.UID = "another"
		w.configMap("of-no-secret", gone)
		require.Equal(w, []string{"configmap/of-node", "configmap/of-secret"}, w.left())
	})
}

// Everything that a custom resource owns would be deleted while its CRD is missing.
func TestAnOwnerOfAKindThatTheServerDoesNotKnowIsNotAbsent(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runGarbage()
		ref := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Banana", Name: "b", UID: "b"}
		w.configMap("of-banana", ref)
		time.Sleep(time.Minute)
		require.Equal(w, []string{"configmap/of-banana"}, w.left(),
			"the API server's 404 is about the path: its CRD may be back in a moment")
	})
}

// A missing permission would delete objects.
func TestAnOwnerThatCannotBeReadIsNotAbsent(t *testing.T) {
	inMemory(t, func(w *world) {
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "get", Resource: "secrets"}, Times: 3, Status: fakeapi.Forbidden(),
		})
		w.runGarbage()
		w.configMap("dependent", metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: "gone", UID: "gone"})
		require.Equal(w, []string{"configmap/dependent"}, w.left())
		time.Sleep(time.Minute)
		require.Empty(w, w.left(), "the collector has to ask again")
	})
}

// The collector would delete live Pods.
func TestALateCacheDeletesNothingThatHasALivingOwner(t *testing.T) {
	inMemory(t, func(w *world) {
		for _, resource := range []string{"deployments", "replicasets"} {
			w.Server.Inject(fakeapi.Fault{
				Match: fakeapi.Match{Verb: "watch", Resource: resource}, DelayEvents: time.Minute,
			})
		}
		w.runGarbage()
		synctest.Wait()
		w.tree() // the collector sees the Pods long before their owner
		require.Equal(w, wholeTree, w.left())
		time.Sleep(10 * time.Minute)
		require.Equal(w, wholeTree, w.left())
	})
}

// An object that is adopted while the collector decides would be deleted.
//
// Function: garbageCollector.deleteObject
func TestADependentThatGotALivingOwnerInTheMeantimeStays(t *testing.T) {
	for _, unreadable := range []int{0, 1} { // reads of the object that are refused after the conflict
		inMemory(t, func(w *world) {
			w.runGarbage()
			dead, alive := w.configMap("dead"), w.configMap("alive")
			dependent := w.configMap("dependent", ownerRef("ConfigMap", dead))
			synctest.Wait()
			// Between the collector's questions and its deletion, another process adopts.
			adopted := make(chan struct{})
			w.Server.Inject(fakeapi.Fault{
				Match: fakeapi.Match{Verb: "delete", Resource: "configmaps", Name: "dependent"},
				Times: 1, Delay: time.Second,
			})
			w.running.Go(func() {
				defer close(adopted)
				time.Sleep(500 * time.Millisecond)
				dependent.OwnerReferences = []metav1.OwnerReference{ownerRef("ConfigMap", alive)}
				_, err := w.Other.CoreV1().ConfigMaps("default").Update(w.ctx, dependent, metav1.UpdateOptions{})
				if err != nil {
					w.Errorf("adopting: %v", err)
				}
			})
			if unreadable > 0 {
				w.Server.Inject(fakeapi.Fault{
					Match: fakeapi.Match{Verb: "get", Resource: "configmaps", Name: "dependent"},
					Times: unreadable, Status: fakeapi.Forbidden(),
				})
			}
			w.deleteConfigMap("dead", metav1.DeletePropagationBackground)
			<-adopted
			time.Sleep(time.Minute)
			require.Equal(w, []string{"configmap/alive", "configmap/dependent"}, w.left())
		})
	}
}

// The verdict holds for the version that was read, and not for whatever has the UID by then. The
// object of this test changes twice: first in a way that doesn't matter, and then it's adopted.
//
// Function: garbageCollector.deleteObject
func TestADependentThatIsAdoptedAfterAConflictStays(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runGarbage()
		dead, alive := w.configMap("dead"), w.configMap("alive")
		dependent := w.configMap("dependent", ownerRef("ConfigMap", dead))
		synctest.Wait()
		deletions := fakeapi.Match{Verb: "delete", Resource: "configmaps", Name: "dependent"}
		w.Server.Inject(fakeapi.Fault{Match: deletions, Times: 2, Delay: time.Second})
		w.deleteConfigMap("dead", metav1.DeletePropagationBackground)
		time.Sleep(500 * time.Millisecond) // the first deletion is on its way
		dependent.Data = map[string]string{"changed": "yes"}
		w.update(dependent)
		time.Sleep(time.Second) // it was refused, and the second one is on its way
		require.Len(w, w.Server.Requests(deletions), 2)
		dependent, err := w.Other.CoreV1().ConfigMaps("default").Get(w.ctx, "dependent", metav1.GetOptions{})
		require.NoError(w, err)
		dependent.OwnerReferences = []metav1.OwnerReference{ownerRef("ConfigMap", alive)}
		w.update(dependent)
		time.Sleep(time.Minute)
		require.Equal(w, []string{"configmap/alive", "configmap/dependent"}, w.left())
	})
}

// The same, a moment earlier: it's the refusal that tells us of another owner.
//
// Function: garbageCollector.deleteObject
func TestADependentThatIsAdoptedWhileItsDeletionIsOnItsWayStays(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runGarbage()
		dead, alive := w.configMap("dead"), w.configMap("alive")
		dependent := w.configMap("dependent", ownerRef("ConfigMap", dead))
		synctest.Wait()
		deletions := fakeapi.Match{Verb: "delete", Resource: "configmaps", Name: "dependent"}
		w.Server.Inject(fakeapi.Fault{Match: deletions, Times: 1, Delay: time.Second})
		w.deleteConfigMap("dead", metav1.DeletePropagationBackground)
		time.Sleep(500 * time.Millisecond)
		dependent.OwnerReferences = []metav1.OwnerReference{ownerRef("ConfigMap", alive)}
		w.update(dependent)
		time.Sleep(time.Minute)
		require.Equal(w, []string{"configmap/alive", "configmap/dependent"}, w.left())
		require.Len(w, w.Server.Requests(deletions), 1, "it was judged by its old owner again")
	})
}

// Another object has the name by then. Nobody has judged that one yet.
//
// Function: garbageCollector.deleteObject
func TestAnObjectThatHasTakenTheNameAfterAConflictIsJudgedFirst(t *testing.T) {
	quiet(t)
	inMemory(t, func(w *world) {
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "watch", Resource: "configmaps"}, DelayEvents: 10 * time.Second,
		})
		w.runGarbage()
		dead := w.configMap("dead")
		w.configMap("dependent", ownerRef("ConfigMap", dead))
		time.Sleep(time.Hour)
		deletions := fakeapi.Match{Verb: "delete", Resource: "configmaps", Name: "dependent"}
		w.Server.Inject(fakeapi.Fault{Match: deletions, Times: 1, Delay: time.Second})
		w.deleteConfigMap("dead", metav1.DeletePropagationBackground)
		for len(w.Server.Requests(deletions)) == 0 {
			time.Sleep(100 * time.Millisecond)
		}
		w.deleteConfigMap("dependent", metav1.DeletePropagationBackground)
		w.configMap("dependent", ownerRef("ConfigMap", dead))
		time.Sleep(5 * time.Second)
		require.Contains(w, w.left(), "configmap/dependent", "it was deleted before the cache showed it")
		time.Sleep(time.Hour)
		require.Empty(w, w.left(), "its owner was deleted as well")
	})
}

// A user changes their mind: the object should be deleted, and its dependents should
// stay. A deletion in the background would delete them as well.
//
// Function: garbageCollector.deleteObject
func TestADependentThatGetsAnotherPolicyAfterAConflictIsJudgedAgain(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runGarbage()
		dead := w.configMap("dead")
		middle := w.configMap("middle", ownerRef("ConfigMap", dead))
		w.configMap("leaf", ownerRef("ConfigMap", middle))
		synctest.Wait()
		deletions := fakeapi.Match{Verb: "delete", Resource: "configmaps", Name: "middle"}
		w.Server.Inject(fakeapi.Fault{Match: deletions, Times: 1, Delay: time.Second})
		w.deleteConfigMap("dead", metav1.DeletePropagationBackground)
		time.Sleep(500 * time.Millisecond)
		middle.Finalizers = []string{metav1.FinalizerOrphanDependents}
		w.update(middle)
		time.Sleep(time.Minute)
		require.Equal(w, []string{"configmap/leaf"}, w.left())
		require.Empty(w, w.refs("leaf"))
	})
}

// One page of one proxy, and the Pods that the user wanted to keep would be deleted.
func TestA404PageInsteadOfAPatchDoesNotLoseADependent(t *testing.T) {
	for what, answer := range inorder.Map(notFoundPages) {
		t.Run(what, func(t *testing.T) {
			inMemory(t, func(w *world) {
				var pages atomic.Int32
				w.Cluster = w.behindProxy(func(r *http.Request, response *http.Response) {
					if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/pods/a") &&
						pages.CompareAndSwap(0, 1) {
						answer(response)
					}
				})
				w.Server.Inject(fakeapi.Fault{
					Match: fakeapi.Match{Verb: "patch", Name: "a"}, Times: 1, Status: fakeapi.InternalError(),
				}) // the page comes in place of the API server's answer: nothing was patched
				w.runGarbage()
				_, rs := w.tree()
				synctest.Wait()
				policy := metav1.DeletePropagationOrphan
				err := w.Other.AppsV1().ReplicaSets("default").Delete(w.ctx, rs.Name,
					metav1.DeleteOptions{PropagationPolicy: &policy})
				require.NoError(w, err)
				time.Sleep(time.Minute)
				require.EqualValues(w, 1, pages.Load())
				require.Equal(w, []string{"deployment/web", "pod/a", "pod/b"}, w.left())
			})
		})
	}
}

// An owner waits for the object in the middle, which has a dependent of its own. Another client changes the object while its deletion
// is on its way. The second attempt has to be a deletion in the foreground, too, or the leaf outlives its owner.
//
// Function: garbageCollector.deleteObject
func TestTheSecondDeletionHasThePolicyOfTheFirst(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runGarbage()
		middle := w.configMap("middle", ownerRef("ConfigMap", w.configMap("owner")))
		leaf := w.configMap("leaf", ownerRef("ConfigMap", middle))
		leaf.Finalizers = []string{"example.com/slow"}
		w.update(leaf)
		synctest.Wait()
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "delete", Name: "middle"}, Times: 1, Delay: time.Second})
		w.deleteConfigMap("owner", metav1.DeletePropagationForeground)
		time.Sleep(500 * time.Millisecond)
		middle.Labels = map[string]string{"a": "b"}
		w.update(middle)
		time.Sleep(time.Minute)
		require.Equal(w, []string{"-configmap/leaf", "-configmap/middle", "-configmap/owner"}, w.left())
	})
}

// A Pod whose status changes every few milliseconds would never be collected.
//
// Function: garbageCollector.deleteObject
func TestAnObjectThatChangesAllTheTimeIsStillDeleted(t *testing.T) {
	inMemory(t, func(w *world) {
		for _, fault := range []fakeapi.Fault{
			// The cache never has the version that the API server has.
			{Match: fakeapi.Match{Verb: "watch", Resource: "configmaps"}, DelayEvents: 20 * time.Millisecond},
			{Match: fakeapi.Match{Verb: "delete", Name: "dependent"}, Delay: time.Millisecond},
		} {
			defer w.Server.Inject(fault)()
		}
		w.runGarbage()
		owner := w.configMap("owner")
		dependent := w.configMap("dependent", ownerRef("ConfigMap", owner))
		time.Sleep(time.Second)
		start := time.Now()
		w.deleteConfigMap("owner", metav1.DeletePropagationBackground)
		patch, err := json.Marshal(map[string]any{"data": map[string]string{"n": "1"}})
		require.NoError(w, err)
		for i := 0; time.Since(start) < 5*time.Second; i++ {
			time.Sleep(5 * time.Millisecond)
			patch[len(patch)-4] = byte('0' + i%10)
			if _, err := w.Other.CoreV1().ConfigMaps("default").Patch(w.ctx, dependent.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				break // it is gone
			}
		}
		require.Less(w, time.Since(start), time.Second)
	})
}

// One error would leave an object, or an owner that waits, forever.
func TestAFailedRequestIsTriedAgain(t *testing.T) {
	for _, verb := range []string{"get", "patch", "delete", "list"} {
		for _, policy := range []metav1.DeletionPropagation{
			metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
		} {
			t.Run(verb+" "+string(policy), func(t *testing.T) {
				inMemory(t, func(w *world) {
					w.runGarbage()
					owner, other := w.configMap("owner"), w.configMap("other")
					w.configMap("dependent", ownerRef("ConfigMap", owner))
					w.configMap("shared", ownerRef("ConfigMap", owner), ownerRef("ConfigMap", other))
					synctest.Wait()
					requests := fakeapi.Match{Verb: verb, Resource: "configmaps"}
					if verb == "delete" {
						requests.Name = "dependent" // not the request that begins it all
					}
					stopFailing := w.Server.Inject(fakeapi.Fault{
						Match: requests, Times: 3, Status: fakeapi.InternalError(),
					})
					w.deleteConfigMap("owner", policy)
					time.Sleep(time.Minute)
					stopFailing()
					want := []string{"configmap/other", "configmap/shared"}
					if policy == metav1.DeletePropagationOrphan {
						want = append([]string{"configmap/dependent"}, want...)
					}
					require.Equal(w, want, w.left())
					require.Equal(w, []string{"other"}, w.refs("shared"))
				})
			})
		}
	}
}

// A dependent that doesn't block its owner is a dependent all the same: what's in between goes after it.
//
// Function: garbageCollector.attemptToDeleteItem
func TestAForegroundDeletionGoesDownToDependentsThatDoNotBlock(t *testing.T) {
	for _, blocks := range []*bool{new(false), nil} {
		inMemory(t, func(w *world) {
			w.runGarbage()
			middle := w.configMap("middle", ownerRef("ConfigMap", w.configMap("owner")))
			ref := ownerRef("ConfigMap", middle)
			ref.BlockOwnerDeletion = blocks
			w.configMap("leaf", ref)
			w.deleteConfigMap("owner", metav1.DeletePropagationForeground)
			require.Empty(w, w.left())
			require.Len(w, w.Server.Requests(fakeapi.Match{Verb: "patch", Name: "middle"}), 1,
				"middle has to wait for its dependents in the foreground, and then lets go of the finalizer")
		})
	}
}
