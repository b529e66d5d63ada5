package garbagecollector

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/manager/client"
)

// A Pod that a slow controller creates for a ReplicaSet that is gone would run forever, or each of
// a thousand that are there already would cost a question.
func TestAnOwnerThatIsAbsentIsAskedForOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		gone := metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: "gone", UID: "gone"}
		for n := range 20 {
			w.configMap(fmt.Sprint("early-", n), gone)
		}
		w.Start()
		w.Settle()
		require.Empty(t, w.left())
		require.Equal(t, 1, w.asked("get", "secrets"))
		for n := range 20 {
			w.configMap(fmt.Sprint("late-", n), gone)
		}
		w.Settle()
		require.Empty(t, w.left())
	})
}

// The Pods of a ReplicaSet that was deleted would stay, because another one has its name.
func TestAnOwnerThatWasReplacedUnderItsNameIsGone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.run()
		old := w.configMap("owner")
		w.configMap("dependent", owner(old))
		require.NoError(t, w.Live.Delete(t.Context(), old))
		w.configMap("new", owner(w.configMap("owner")))
		w.Settle()
		require.Equal(t, []string{"configmap/new", "configmap/owner"}, w.left())
	})
}

// An object with an owner in another namespace would live or die by chance, and its user would not
// know why. As in the original, the owner counts as absent, and an Event says so.
func TestAnOwnerInAnotherNamespaceIsAbsentAndTheUserIsTold(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
		w.run()
		root := w.configMap("root")
		w.configMap("right", owner(root))
		w.configMapIn("other", "wrong", owner(root))
		misspelt := owner(root)
		misspelt.Name = "misspelt"
		w.configMap("misspelt-owner", misspelt)
		w.Settle()
		require.Equal(t, []string{"configmap/right", "configmap/root"}, w.left())
		w.configMap("late", owner(root))
		w.Settle()
		require.Equal(t, []string{"configmap/late", "configmap/right", "configmap/root"}, w.left(),
			"the wrong references must not make the owner absent for the right ones")
		require.Equal(t, map[string][]string{"OwnerRefInvalidNamespace": {fmt.Sprintf(
			`ownerRef [v1/ConfigMap, namespace: other, name: root, uid: %s] does not exist in `+
				`namespace "other"`, root.UID)}}, w.Notes(controllerName, "ConfigMap"))
	})
}

// An object without a namespace whose owner is in one may belong to any namespace. It would be
// deleted, or the API server would be asked forever.
func TestAnObjectWithoutANamespaceIsNotDeletedForAnOwnerInOne(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.run()
		root, gone := w.configMap("root"), w.configMap("gone")
		require.NoError(t, w.Live.Delete(t.Context(), gone))
		for name, of := range map[string]*corev1.ConfigMap{"n1": root, "n2": gone} {
			w.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{
				Name: name, OwnerReferences: []metav1.OwnerReference{owner(of)},
			}})
		}
		w.Settle()
		var nodes corev1.NodeList
		require.NoError(t, w.Live.List(t.Context(), &nodes))
		require.Len(t, nodes.Items, 2)
		require.Len(t, w.Notes(controllerName, "Node")["OwnerRefInvalidNamespace"], 1,
			"of the other one, nobody knows the namespace")
		w.Server.ForgetRequests()
		time.Sleep(time.Hour)
		require.Zero(t, w.asked("get", "configmaps")+w.asked("get", "nodes"))
	})
}

// What an object without a namespace owns is in all namespaces.
func TestAnOwnerWithoutANamespaceHasDependentsInAll(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
		w.run()
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		w.Create(node)
		w.configMap("here", owner(node))
		w.configMapIn("other", "there", owner(node))
		w.Settle()
		require.Len(t, w.left(), 2)
		w.delete(node, foreground)
		require.Empty(t, w.left())
		require.Error(t, w.Live.Get(t.Context(), client.ObjectKeyFromObject(node), node))
	})
}

// Everything that a custom resource owns would be deleted when its CRD is away.
func TestAnOwnerOfAKindThatTheServerDoesNotKnowIsNotAbsent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.run()
		w.configMap("of-banana", metav1.OwnerReference{
			APIVersion: "example.com/v1", Kind: "Banana", Name: "b", UID: "b",
		})
		time.Sleep(time.Hour)
		require.Equal(t, []string{"configmap/of-banana"}, w.left())

		t.Log("when the kind is there, the owner is absent")
		w.Server.Register(fakeapi.Kind{Group: "example.com", Version: "v1", Kind: "Banana"})
		time.Sleep(time.Hour)
		require.Empty(t, w.left())
	})
}

// A missing permission would delete objects.
func TestAnOwnerThatCannotBeReadIsNotAbsent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		lift := w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "get", Resource: "secrets"}, Status: fakeapi.Forbidden(),
		})
		w.run()
		w.configMap("dependent", metav1.OwnerReference{
			APIVersion: "v1", Kind: "Secret", Name: "gone", UID: "gone",
		})
		w.Settle()
		require.Equal(t, []string{"configmap/dependent"}, w.left())
		lift()
		w.Settle()
		require.Empty(t, w.left(), "the collector has to ask again")
	})
}

// The collector would delete live Pods.
func TestALateInformerDeletesNothingThatHasALivingOwner(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, resource := range []string{"deployments", "replicasets"} {
			w.Server.Inject(fakeapi.Fault{
				Match:       fakeapi.Match{Verb: "watch", Resource: resource},
				DelayEvents: time.Minute,
			})
		}
		w.run()
		w.tree() // the Pods are seen long before their owner
		w.Settle()
		time.Sleep(10 * time.Minute)
		require.Equal(t, wholeTree, w.left())
		require.Empty(t, w.Writes())
	})
}

// An owner that is created and deleted while its informer does not watch would leave its dependents
// forever: no informer shows its end.
func TestAnOwnerThatNoInformerHasEverShownIsAskedForAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Server.Inject(fakeapi.Fault{
			Match:  fakeapi.Match{UserAgent: simulation.Agent, Verb: "watch", Resource: "secrets"},
			Status: fakeapi.Forbidden(),
		})
		w.Server.Inject(fakeapi.Fault{
			Match:  fakeapi.Match{UserAgent: simulation.Agent, Verb: "list", Resource: "secrets"},
			Status: fakeapi.Forbidden(),
		})
		w.Start()
		w.Settle()
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"}}
		w.Create(secret)
		w.configMap("dependent", owner(secret))
		w.Settle()
		require.Equal(t, []string{"configmap/dependent"}, w.left())
		w.delete(secret, background)
		time.Sleep(20 * time.Minute)
		require.Empty(t, w.left())
	})
}

// An object that is adopted while the collector decides would be deleted.
func TestADependentThatGetsALivingOwnerInTheMeantimeStays(t *testing.T) {
	for _, unreadable := range []int{0, 1} { // reads that are refused after the conflict
		inWorld(t, func(t *testing.T, w *world) {
			w.run()
			dead, alive := w.configMap("dead"), w.configMap("alive")
			dependent := w.configMap("dependent", owner(dead))
			w.Settle()
			w.Server.Inject(fakeapi.Fault{
				Match: fakeapi.Match{Verb: "delete", Name: "dependent"},
				Times: 1, Delay: time.Second,
			})
			if unreadable > 0 {
				w.Server.Inject(fakeapi.Fault{
					Match: fakeapi.Match{
						UserAgent: simulation.Agent, Verb: "get", Name: "dependent",
					},
					Skip: 1, Times: unreadable, Status: fakeapi.Forbidden(),
				})
			}
			require.NoError(t, w.Live.Delete(t.Context(), dead))
			time.Sleep(500 * time.Millisecond) // the deletion is under way
			simulation.Edit(w.World, dependent, func(m *corev1.ConfigMap) {
				m.OwnerReferences = []metav1.OwnerReference{owner(alive)}
			})
			w.Settle()
			require.Equal(t, []string{"configmap/alive", "configmap/dependent"}, w.left())
		})
	}
}
