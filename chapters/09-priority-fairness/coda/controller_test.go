package main

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/workqueue"
)

func TestEachLabelledNamespaceGetsAConfigMapAndNoOtherDoes(t *testing.T) {
	inWorld(t, func(w *world) {
		w.makeNamespace("before", ofTeam)
		w.makeNamespace("unlabelled", nil)
		defer w.start()()
		w.makeNamespace("after", map[string]string{teamLabel: "blue"})
		require.Equal(t, map[string]string{"team": "red", "contact": "phone 1"}, w.says("before"))
		require.Equal(t, map[string]string{"team": "blue", "contact": "phone 1"}, w.says("after"))
		require.Nil(t, w.configMap("unlabelled"))
		require.Nil(t, w.configMap("default"))

		w.patchNamespace("unlabelled", `{"labels":{"team":"green"}}`)
		w.setContact("before", "phone 2")
		require.Equal(t, "green", w.says("unlabelled")["team"])
		require.Equal(t, "phone 2", w.says("before")["contact"])
		require.Len(t, w.writes(), 4, "each ConfigMap is made once, and one of them is changed once")
	})
}

func TestWhatUsersDeleteOrChangeIsRepaired(t *testing.T) {
	inWorld(t, func(w *world) {
		w.makeNamespace("a", ofTeam)
		defer w.start()()
		wanted := w.says("a")
		for what, spoil := range map[string]func(){
			"deleted":       func() { w.delete("a") },
			"changed":       func() { w.change("a", func(c *corev1.ConfigMap) { c.Data["contact"] = "nobody" }) },
			"added to":      func() { w.change("a", func(c *corev1.ConfigMap) { c.Data["more"] = "than wanted" }) },
			"emptied":       func() { w.change("a", func(c *corev1.ConfigMap) { c.Data = nil }) },
			"in bytes":      func() { w.change("a", func(c *corev1.ConfigMap) { c.BinaryData = map[string][]byte{"b": {1}} }) },
			"made constant": func() { w.change("a", func(c *corev1.ConfigMap) { c.Data, c.Immutable = nil, new(true) }) },
		} {
			spoil()
			found := w.configMap("a")
			require.NotNil(t, found, what)
			require.Equal(t, wanted, found.Data, what)
			require.Empty(t, found.BinaryData, what)
		}
		require.Empty(t, w.failures())
	})
}

// What users add besides the data is theirs.
func TestARepairLeavesUsersLabelsAndAnnotations(t *testing.T) {
	inWorld(t, func(w *world) {
		w.makeNamespace("a", ofTeam)
		defer w.start()()
		w.change("a", func(c *corev1.ConfigMap) { c.Annotations, c.Data = map[string]string{"note": "mine"}, nil })
		require.Equal(t, "red", w.says("a")["team"])
		require.Equal(t, "mine", w.configMap("a").Annotations["note"])
	})
}

func TestWhoseLabelGoesLosesTheConfigMap(t *testing.T) {
	inWorld(t, func(w *world) {
		w.makeNamespace("a", ofTeam)
		defer w.start()()
		require.NotNil(t, w.configMap("a"))
		w.patchNamespace("a", `{"labels":{"team":null}}`)
		require.Nil(t, w.configMap("a"))
		w.patchNamespace("a", `{"labels":{"team":"red"}}`)
		require.NotNil(t, w.configMap("a"))
	})
}

// The namespace controller empties a Namespace that is deleted. A controller that creates
// things there is refused, and with retries would ask forever.
func TestATerminatingNamespaceIsLeftInPeace(t *testing.T) {
	inWorld(t, func(w *world) {
		w.makeNamespace("a", ofTeam)
		w.makeObstacle("a")
		stop := w.start()
		before := len(w.writes())
		require.NoError(t, w.users.CoreV1().Namespaces().Delete(w.Context(), "a", metav1.DeleteOptions{}))
		require.Nil(t, w.configMap("a"), "the Namespace is being emptied")
		time.Sleep(time.Hour)
		require.LessOrEqual(t, len(w.writes()), before+1, "at most once, if the ConfigMap's watch is ahead of the Namespace's")
		stop()
		w.server.ForgetRequests()
		defer w.start()()
		require.Empty(t, w.writes(), "it is known that the Namespace is going")

		_, err := w.users.CoreV1().Secrets("a").Patch(w.Context(), "stays", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		synctest.Wait()
		_, err = w.users.CoreV1().Namespaces().Get(w.Context(), "a", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), "%v", err)
		require.Empty(t, w.writes())
		require.Empty(t, w.failures())
	})
}

// A Namespace may be deleted between our look and our write.
func TestARefusalByANamespaceThatGoesIsNoFailure(t *testing.T) {
	for what, stays := range map[string]bool{"it is terminating": true, "it is gone": false} {
		inWorld(t, func(w *world) {
			w.makeNamespace("a", ofTeam)
			if stays {
				w.makeObstacle("a")
			}
			defer w.start()()
			w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps", Verb: "create"}, Delay: time.Second})
			w.delete("a")
			require.NoError(t, w.users.CoreV1().Namespaces().Delete(w.Context(), "a", metav1.DeleteOptions{}))
			before := len(w.writes())
			time.Sleep(time.Hour)
			require.Len(t, w.writes(), before, what)
			require.Empty(t, w.failures(), what)
		})
	}
}

func TestAFailedWriteIsTriedAgainAndLaterEachTime(t *testing.T) {
	for what, fault := range map[string]fakeapi.Fault{
		"the server fails":       {Status: fakeapi.InternalError()},
		"somebody was faster":    {Status: fakeapi.Conflict()},
		"the connection is cut":  {Refuse: true},
		"the answer is lost":     {LoseResponse: true, Times: 1},
		"the server is too busy": {Status: fakeapi.TooManyRequests(0)},
	} {
		t.Run(what, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.makeNamespace("a", ofTeam)
				defer w.start()()
				fault.Match = fakeapi.Match{Resource: "configmaps", Verb: "update", UserAgent: agent}
				if fault.Times == 0 {
					fault.Times = 8
				}
				w.server.Inject(fault)
				begin := time.Now()
				w.setContact("a", "phone 2")
				for w.says("a")["contact"] != "phone 2" {
					require.Less(t, time.Since(begin), time.Minute)
					time.Sleep(time.Millisecond)
				}
				if fault.Times > 1 {
					require.InDelta(t, 1.275, time.Since(begin).Seconds(), 0.002, "8 failures: 5 ms, and twice as long each time")
					require.Len(t, w.failures(), fault.Times)
				}
				time.Sleep(time.Hour)
				fault.Times = 1
				w.server.Inject(fault)
				w.setContact("a", "phone 3")
				time.Sleep(6 * time.Millisecond)
				require.Equal(t, "phone 3", w.says("a")["contact"], "a success makes up for earlier failures: the next one is the first")
			})
		})
	}
}

// Two users' changes in a row, or a late watch: the second look must not be older
// than our own write, or it makes the ConfigMap a second time.
func TestTheControllerReadsItsOwnWrites(t *testing.T) {
	inWorld(t, func(w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps", Verb: "watch"}, DelayEvents: time.Second})
		defer w.start()()
		time.Sleep(time.Minute)
		w.makeNamespace("a", ofTeam)
		w.setContact("a", "phone 2")
		w.setContact("a", "phone 3")
		time.Sleep(time.Minute)
		require.Equal(t, "phone 3", w.says("a")["contact"])
		require.Empty(t, w.failures())
		require.Equal(t, []string{"create configmaps in a", "update configmaps a/team"}, w.writes())
	})
}

// A rollout of the controller must not write to every Namespace of the cluster.
func TestARestartWritesNothingNeedlesslyAndMakesUpForWhatItMissed(t *testing.T) {
	inWorld(t, func(w *world) {
		for n := range 20 {
			w.makeNamespace("n"+strconv.Itoa(n), ofTeam)
		}
		w.start()()
		require.Len(t, w.writes(), 20)
		w.server.ForgetRequests()
		w.start()()
		require.Empty(t, w.writes(), "all was as it should be")

		w.delete("n3")
		w.setContact("n4", "phone 2")
		w.patchNamespace("n5", `{"labels":{"team":null}}`)
		w.server.ForgetRequests()
		defer w.start()()
		require.ElementsMatch(t, []string{"create configmaps in n3", "update configmaps n4/team", "delete configmaps n5/team"}, w.writes())
	})
}

// A worker that begins with half the caches takes what is not listed yet for what
// is not there, and deletes every ConfigMap.
func TestNothingIsDecidedBeforeBothListsAreComplete(t *testing.T) {
	for _, late := range []string{"namespaces", "configmaps"} {
		inWorld(t, func(w *world) {
			w.makeNamespace("a", ofTeam)
			w.start()()
			w.server.ForgetRequests()
			w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: late, UserAgent: agent}, Delay: time.Minute})
			defer w.start()()
			time.Sleep(time.Hour)
			require.Empty(t, w.writes(), "late are the %s", late)
		})
	}
}

func TestAStormOfChangesIsAHandfulOfWrites(t *testing.T) {
	inWorld(t, func(w *world) {
		w.makeNamespace("a", ofTeam)
		w.makeNamespace("b", ofTeam)
		defer w.start()()
		before := len(w.writes())
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "update", UserAgent: agent}, Delay: 100 * time.Millisecond})
		for n := range 500 { // one a millisecond
			w.setContact("a", "phone "+strconv.Itoa(n))
			w.setContact("b", "phone "+strconv.Itoa(n))
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Minute)
		require.Equal(t, "phone 499", w.says("a")["contact"])
		require.Equal(t, "phone 499", w.says("b")["contact"])
		require.LessOrEqual(t, len(w.writes())-before, 2*6, "a write takes 100 ms, and the storm 500")
	})
}

func TestAConfigMapOfSomebodyElseIsLeftAloneUntilItGoes(t *testing.T) {
	inWorld(t, func(w *world) {
		w.makeNamespace("a", nil)
		theirs := map[string]string{"theirs": "yes"}
		_, err := w.users.CoreV1().ConfigMaps("a").Create(w.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Data: theirs}, metav1.CreateOptions{})
		require.NoError(t, err)
		defer w.start()()
		w.patchNamespace("a", `{"labels":{"team":"red"}}`)
		require.Equal(t, theirs, w.says("a"))
		w.patchNamespace("a", `{"labels":{"team":null}}`)
		require.Equal(t, theirs, w.says("a"))
		w.patchNamespace("a", `{"labels":{"team":"red"}}`)
		w.change("a", func(c *corev1.ConfigMap) { c.Data["more"] = "of it" })
		require.Equal(t, "of it", w.says("a")["more"])
		require.Empty(t, w.writes(), "nobody may write to it but its owner")
		w.delete("a")
		require.Equal(t, "red", w.says("a")["team"], "now there is room for ours")
	})
}

// A user who wants to keep our ConfigMap takes our label away. Between our look
// and our deletion, too.
func TestAConfigMapThatAUserTakesOverIsTheirs(t *testing.T) {
	inWorld(t, func(w *world) {
		w.makeNamespace("a", ofTeam)
		defer w.start()()
		require.NotNil(t, w.configMap("a"))
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "delete", UserAgent: agent}, Delay: time.Second, Times: 1})
		w.patchNamespace("a", `{"labels":{"team":null}}`)
		synctest.Wait() // the deletion is under way
		w.change("a", func(c *corev1.ConfigMap) { c.Labels = nil })
		time.Sleep(time.Minute)
		require.NotNil(t, w.configMap("a"))
		require.Len(t, w.failures(), 1, "the deletion had a precondition")
	})
}

// After a restart or a resync, 10,000 Namespaces wait that are as they should be. Users
// must not wait for them.
func TestOnlyWhatChangedIsUrgent(t *testing.T) {
	inWorld(t, func(w *world) {
		controller, err := NewController(w.server.Config(), Options{})
		require.NoError(t, err)
		handler := handler(controller, "Namespace", (*corev1.Namespace).GetName)
		at := func(version string) *corev1.Namespace {
			return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: version}}
		}
		for _, event := range []struct {
			what     string
			happens  func()
			priority int
		}{
			{"it was there already", func() { handler.OnAdd(at("1"), true) }, workqueue.LowPriority},
			{"it was made", func() { handler.OnAdd(at("1"), false) }, 0},
			{"a resync", func() { handler.OnUpdate(at("1"), at("1")) }, workqueue.LowPriority},
			{"a change", func() { handler.OnUpdate(at("1"), at("2")) }, 0},
			{"its end", func() { handler.OnDelete(at("2"), false) }, 0},
		} {
			event.happens()
			work, err := controller.queue.Next(w.Context())
			require.NoError(t, err)
			require.Equal(t, event.priority, work.Priority, event.what)
			controller.queue.Done(work.Item)
		}
	})
}

// Otherwise each failure during an initial list would overtake the users' changes.
func TestARetryKeepsItsPriority(t *testing.T) {
	inWorld(t, func(w *world) {
		w.makeNamespace("a", ofTeam)
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "create", Resource: "configmaps"}, Status: fakeapi.InternalError()})
		controller, err := NewController(w.server.Config(), Options{OnError: func(string, error) {}})
		require.NoError(t, err)
		// Its informers without its workers: the test is the worker.
		_, err = controller.namespaces.AddHandler(handler(controller, "Namespace", (*corev1.Namespace).GetName), informer.HandlerOptions{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(w.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = controller.namespaces.Run(ctx) })
		running.Go(func() { _ = controller.configMaps.Run(ctx) })
		for try := range 3 {
			work, err := controller.queue.Next(ctx)
			require.NoError(t, err)
			require.Equal(t, workqueue.LowPriority, work.Priority, "try %d of an item of the initial list", try)
			controller.process(ctx, work)
		}
		controller.queue.ShutDown()
		cancel()
		running.Wait()
	})
}

// A retry that is due in a quarter of an hour would keep a timer, and the queue with all
// that it holds, of a controller that is over.
func TestRunShutsTheQueueDown(t *testing.T) {
	inWorld(t, func(w *world) {
		w.makeNamespace("a", ofTeam)
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "create", Resource: "configmaps"}, Status: fakeapi.InternalError()})
		controller, err := NewController(w.server.Config(), Options{OnError: func(string, error) {}})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		_ = controller.Run(ctx)
		require.True(t, controller.queue.ShuttingDown(), "the queue takes adds that nobody will work on")
		require.Zero(t, controller.queue.Delayed(), "a retry waits for a worker that is gone")
	})
}

func TestRunEndsAtAnyMomentAndLeavesNothingBehind(t *testing.T) {
	for what, prepare := range map[string]func(*world){
		"before the lists": func(w *world) {
			w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: agent}, Hang: true})
		},
		"in a write": func(w *world) {
			w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "create", UserAgent: agent}, Hang: true})
		},
		"in the wait for a write": func(w *world) {
			w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps", Verb: "watch"}, DelayEvents: 5 * time.Second})
		},
		"while a retry waits": func(w *world) {
			w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "create", UserAgent: agent}, Status: fakeapi.InternalError()})
		},
	} {
		t.Run(what, func(t *testing.T) {
			inWorld(t, func(w *world) {
				prepare(w)
				w.makeNamespace("a", ofTeam)
				stop := w.start()
				time.Sleep(8 * time.Second)
				begin := time.Now()
				stop()
				require.Zero(t, time.Since(begin), "it does not wait for anybody else")
				wrote := len(w.writes())
				time.Sleep(time.Hour)
				require.Len(t, w.writes(), wrote)
			})
		})
	}
}

// Who starts the next controller when Run has returned must be alone.
func TestRunWaitsForAWriteThatIsUnderWay(t *testing.T) {
	inWorld(t, func(w *world) {
		config := w.server.Config()
		ended := false
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(request *http.Request) (*http.Response, error) {
				if request.Method != http.MethodPost {
					return next.RoundTrip(request)
				}
				<-request.Context().Done()
				time.Sleep(time.Second)
				ended = true
				return nil, request.Context().Err()
			})
		})
		controller, err := NewController(config, Options{})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		w.makeNamespace("a", ofTeam)
		require.NoError(t, controller.Run(ctx), "it ends because it was told to")
		require.True(t, ended)
		require.Error(t, controller.Run(w.Context()), "it may be called once")
	})
}
