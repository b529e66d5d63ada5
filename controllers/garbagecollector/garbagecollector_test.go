package garbagecollector

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/manager/client"
)

// The collector would delete a healthy cluster, or each new Pod would cost requests.
func TestAnObjectWithALivingOwnerStaysAndCostsNoRequest(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, rs := w.tree()
		w.Start()
		w.Settle()
		late := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "late", OwnerReferences: []metav1.OwnerReference{owner(rs)},
		}, Spec: rs.Spec.Template.Spec}
		w.Create(late)
		w.Settle()
		require.Equal(t, []string{"deployment/web", "pod/a", "pod/b", "pod/late",
			"replicaset/web"}, w.left())
		require.Empty(t, w.Writes())
		require.Zero(t, w.asked("get", "pods")+w.asked("get", "replicasets")+
			w.asked("get", "deployments"), "the graph shows the owners")
	})
}

// Deleted Deployments would leave their Pods running.
func TestABackgroundDeletionDeletesDependentsAfterTheirOwner(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.run()
		d, _ := w.tree()
		w.configMap("alone")
		w.delete(d, background)
		require.Equal(t, []string{"configmap/alone"}, w.left())
		require.Zero(t, w.asked("patch", "pods"), "a Pod has no dependents to wait for")
		require.Equal(t, 1, w.asked("delete", "replicasets"))
	})
}

// What lost its owner while no collector was running would stay forever.
func TestDependentsAreFoundThatLostTheirOwnerBeforeTheStart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		d, _ := w.tree()
		w.delete(d, background)
		require.Len(t, w.left(), 3)
		w.run()
		require.Empty(t, w.left())
	})
}

// An object with a living owner stays, without the references to the others. An owner that waits
// would wait forever if it were not taken out.
func TestDeadOwnersAreTakenOutIfALivingOneIsLeft(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.run()
		one, two, three := w.configMap("one"), w.configMap("two"), w.configMap("three")
		w.configMap("shared", owner(one), owner(two), owner(three))
		w.delete(two, background)
		require.Equal(t, []string{"one", "three"}, w.owners("shared"))
		w.delete(one, foreground)
		require.Equal(t, []string{"three"}, w.owners("shared"))
		w.delete(three, background)
		require.Empty(t, w.left())
	})
}

// Pods that a user wanted to keep would be deleted.
func TestAnOrphanDeletionLeavesTheDependentsWithoutTheOwner(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.run()
		d, rs := w.tree()
		w.Settle()
		w.delete(d, orphan)
		require.Equal(t, []string{"pod/a", "pod/b", "replicaset/web"}, w.left())
		w.Read(rs)
		require.Empty(t, rs.OwnerReferences)
		require.Zero(t, w.asked("patch", "pods"), "the ReplicaSet still owns its Pods")
	})
}

// The owner must not go before all of its dependents are orphans: they would be deleted.
func TestAnOrphanDeletionWaitsForADependentThatCannotBePatched(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.run()
		one, two := w.configMap("one"), w.configMap("two")
		w.configMap("dependent", owner(one))
		w.configMap("shared", owner(one), owner(two))
		w.finalizers(one, "example.com/theirs")
		w.Settle()
		lift := w.Server.Inject(fakeapi.Fault{
			Match:  fakeapi.Match{Verb: "patch", Name: "dependent"},
			Status: fakeapi.InternalError(),
		})
		w.delete(one, orphan)
		w.Read(one)
		require.Contains(t, one.Finalizers, metav1.FinalizerOrphanDependents)
		lift()
		time.Sleep(20 * time.Minute) // the longest back-off
		w.Read(one)
		require.Equal(t, []string{"example.com/theirs"}, one.Finalizers)
		require.Empty(t, w.owners("dependent"))
		require.Equal(t, []string{"two"}, w.owners("shared"))
	})
}

// A user who sees that the Deployment is gone would find its Pods still running.
func TestAForegroundDeletionDeletesTheOwnerAfterItsDependents(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.run()
		d, _ := w.tree()
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
		slow := func(all ...string) {
			simulation.Edit(w.World, pod, func(p *corev1.Pod) { p.Finalizers = all })
		}
		slow("example.com/slow")
		w.Settle()
		w.delete(d, foreground)
		require.Equal(t, []string{"-deployment/web", "-pod/a", "-replicaset/web"}, w.left(),
			"the owners wait for the Pod that is left")
		slow()
		w.Settle()
		require.Empty(t, w.left())
	})
}

// An owner would wait for dependents that do not block it.
func TestAForegroundDeletionWaitsOnlyForBlockingDependents(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.run()
		root := w.configMap("root")
		for name, blocks := range inorder.Map(map[string]*bool{"no": new(false), "unset": nil}) {
			ref := owner(root)
			ref.BlockOwnerDeletion = blocks
			w.keep(w.configMap(name, ref))
		}
		w.Settle()
		w.delete(root, foreground)
		require.Equal(t, []string{"-configmap/no", "-configmap/unset"}, w.left())
	})
}

// An owner would wait forever for what is no longer its dependent, or does not block it any more.
func TestAnOwnerStopsWaitingForADependentThatStopsBlocking(t *testing.T) {
	for name, change := range inorder.Map(map[string]func(*corev1.ConfigMap){
		"no reference": func(m *corev1.ConfigMap) { m.OwnerReferences = nil },
		"not blocking": func(m *corev1.ConfigMap) {
			m.OwnerReferences[0].BlockOwnerDeletion = new(false)
		},
	}) {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.run()
				root := w.configMap("root")
				dependent := w.configMap("dependent", owner(root))
				w.keep(dependent)
				w.Settle()
				w.delete(root, foreground)
				require.Equal(t, []string{"-configmap/dependent", "-configmap/root"}, w.left())
				simulation.Edit(w.World, dependent, change)
				w.Settle()
				require.Equal(t, []string{"-configmap/dependent"}, w.left())
			})
		})
	}
}

// A restart would leave owners that wait forever.
func TestADeletionGoesOnAfterARestart(t *testing.T) {
	for _, policy := range []metav1.DeletionPropagation{foreground, orphan} {
		inWorld(t, func(t *testing.T, w *world) {
			w.configMap("dependent", owner(w.configMap("root")))
			w.delete(named("root"), policy)
			require.Contains(t, w.left(), "-configmap/root")
			w.run()
			if policy == orphan {
				require.Equal(t, []string{"configmap/dependent"}, w.left())
			} else {
				require.Empty(t, w.left())
			}
		})
	}
}

// Objects that own each other would wait for each other forever: in the original, too, if all of
// them are deleted by users.
func TestACircleOfOwnersIsDeleted(t *testing.T) {
	for _, deleted := range [][]string{{"a"}, {"a", "c"}, {"a", "b", "c"}} {
		inWorld(t, func(t *testing.T, w *world) {
			w.run()
			a := w.configMap("a")
			b := w.configMap("b", owner(a))
			c := w.configMap("c", owner(b))
			simulation.Edit(w.World, a, func(m *corev1.ConfigMap) {
				m.OwnerReferences = []metav1.OwnerReference{owner(c)}
			})
			w.Settle()
			require.Len(t, w.left(), 3)
			lift := w.Server.Inject(fakeapi.Fault{ // the first of the requests that open it
				Match: fakeapi.Match{Verb: "patch"}, Times: 2, Status: fakeapi.InternalError(),
			})
			for _, name := range deleted {
				require.NoError(t, w.Live.Delete(t.Context(), named(name),
					client.PropagationPolicy(foreground)))
			}
			w.Settle()
			lift()
			require.Empty(t, w.left(), "they wait for each other forever, %v", deleted)
		})
	}
}

// A dependent that is in no circle would not be waited for, as soon as one of its own dependents is
// being deleted. In the original, that is so.
func TestADependentThatIsInNoCircleGoesOnBlockingItsOwner(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.run()
		root := w.configMap("root")
		middle := w.configMap("middle", owner(root))
		leaf := w.configMap("leaf", owner(middle))
		w.keep(w.configMap("stuck", owner(leaf)))
		w.Settle()
		w.delete(leaf, foreground)
		w.delete(root, foreground)
		require.Equal(t, []string{"-configmap/leaf", "-configmap/middle", "-configmap/root",
			"-configmap/stuck"}, w.left())
		w.Read(middle)
		require.True(t, *middle.OwnerReferences[0].BlockOwnerDeletion)
	})
}

// A finalizer on the dependent says what is to become of its own dependents.
func TestACollectedDependentKeepsItsOwnWishForItsDependents(t *testing.T) {
	for finalizer, left := range inorder.Map(map[string][]string{
		metav1.FinalizerOrphanDependents: {"configmap/leaf"},
		metav1.FinalizerDeleteDependents: {"-configmap/leaf", "-configmap/middle"},
	}) {
		t.Run(finalizer, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.run()
				root := w.configMap("root")
				middle := w.configMap("middle", owner(root))
				w.keep(w.configMap("leaf", owner(middle)))
				w.finalizers(middle, finalizer)
				w.Settle()
				w.delete(root, background)
				require.Equal(t, left, w.left())
			})
		})
	}
}

// A Pod whose status changes every few milliseconds would never be collected.
func TestAnObjectThatChangesAllTheTimeIsDeletedAllTheSame(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.run()
		root := w.configMap("root")
		dependent := w.configMap("dependent", owner(root))
		w.Settle()
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "delete", Name: "dependent"}, Delay: 20 * time.Millisecond,
		})
		require.NoError(t, w.Live.Delete(t.Context(), root))
		for n := range 200 {
			time.Sleep(5 * time.Millisecond)
			before := dependent.DeepCopy()
			dependent.Data = map[string]string{"n": fmt.Sprint(n)}
			if w.Live.Patch(t.Context(), dependent, client.MergeFrom(before)) != nil {
				break // it is gone
			}
		}
		w.Settle()
		require.Empty(t, w.left())
	})
}

// One error would leave an object, or an owner that waits, forever.
func TestAFailedRequestIsTriedAgain(t *testing.T) {
	for _, verb := range []string{"get", "patch", "delete"} {
		for _, policy := range []metav1.DeletionPropagation{background, foreground, orphan} {
			t.Run(verb+" "+string(policy), func(t *testing.T) {
				inWorld(t, func(t *testing.T, w *world) {
					w.run()
					root, other := w.configMap("root"), w.configMap("other")
					w.configMap("dependent", owner(root))
					w.configMap("shared", owner(root), owner(other))
					w.Settle()
					w.Server.Inject(fakeapi.Fault{
						Match: fakeapi.Match{
							UserAgent: simulation.Agent, Verb: verb, Resource: "configmaps",
						},
						Times: 3, Status: fakeapi.InternalError(),
					})
					w.delete(root, policy)
					want := []string{"configmap/other", "configmap/shared"}
					if policy == orphan {
						want = slices.Insert(want, 0, "configmap/dependent")
					}
					require.Equal(t, want, w.left())
					require.Equal(t, []string{"other"}, w.owners("shared"))
				})
			})
		}
	}
}

// A collector that deletes what is being deleted already keeps the API server busy.
func TestADependentIsDeletedOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.run()
		root := w.configMap("root")
		dependent := w.configMap("dependent", owner(root))
		w.keep(dependent)
		w.Settle()
		w.Server.ForgetRequests()
		w.delete(root, background)
		simulation.Edit(w.World, dependent, func(m *corev1.ConfigMap) {
			m.Labels = map[string]string{"a": "change"}
		})
		time.Sleep(20 * time.Minute)
		require.Equal(t, []string{"-configmap/dependent"}, w.left())
		require.Equal(t, map[string]int{"delete configmaps": 1}, w.Wrote())
	})
}

// A collector whose informers are late would delete again what a user has deleted already.
func TestWhatAUserHasDeletedMeanwhileIsNotDeletedAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{
				UserAgent: simulation.Agent, Verb: "watch", Resource: "configmaps",
			},
			DelayEvents: time.Minute,
		})
		w.run()
		root := w.configMap("root")
		dependent := w.configMap("dependent", owner(root))
		w.keep(dependent)
		time.Sleep(10 * time.Minute)
		require.NoError(t, w.Live.Delete(t.Context(), root))
		time.Sleep(30 * time.Second)
		require.NoError(t, w.Live.Delete(t.Context(), dependent))
		time.Sleep(10 * time.Minute)
		require.NotZero(t, w.asked("get", "configmaps"), "the collector has looked at it")
		require.Zero(t, w.asked("delete", "configmaps"))
	})
}

// A dependent that another process makes while its owner orphans would be deleted after the owner.
func TestADependentThatIsMadeWhileItsOwnerIsBeingOrphanedIsOrphanedToo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.run()
		root := w.configMap("root")
		w.configMap("dependent", owner(root))
		w.Settle()
		w.onRequests("PATCH", "dependent", func(_ *http.Request, number int) *http.Response {
			if number == 1 {
				w.configMap("late", owner(root))
			}
			return nil
		})
		w.delete(root, orphan)
		require.Equal(t, []string{"configmap/dependent", "configmap/late"}, w.left())
		require.Empty(t, w.owners("late"))
	})
}

// In a namespace that is being deleted, all that is there goes, in whatever order the namespace
// controller and this one get to it; nothing may be left that keeps the namespace.
func TestANamespaceThatIsBeingDeletedIsNotKeptByOwnersThatWait(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "going"}})
		w.run()
		for _, policy := range policies {
			root := w.configMapIn("going", nameIn("root", policy))
			w.configMapIn("going", nameIn("dependent", policy), owner(root))
			w.Settle()
			require.NoError(t, w.Live.Delete(t.Context(), root, client.PropagationPolicy(policy)))
		}
		require.NoError(t, w.Live.DeleteAllOf(t.Context(), &corev1.ConfigMap{},
			client.InNamespace("going")))
		w.Settle()
		require.Empty(t, w.left())
	})
}
