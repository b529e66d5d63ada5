package source

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/internal/logtest"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

// asks is a predicate that writes down that it was asked.
func asks(name string, answer bool, asked *[]string) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { *asked = append(*asked, name+" create"); return answer },
		UpdateFunc:  func(event.UpdateEvent) bool { *asked = append(*asked, name+" update"); return answer },
		DeleteFunc:  func(event.DeleteEvent) bool { *asked = append(*asked, name+" delete"); return answer },
		GenericFunc: func(event.GenericEvent) bool { *asked = append(*asked, name+" generic"); return answer },
	}
}

// allEvents makes one event of each sort.
func allEvents(t *testing.T, p *pipeline[client.Object, reconcile.Request]) {
	h := informerHandler[client.Object, reconcile.Request]{t.Context(), p}
	h.OnAdd(configMap("web"), true)
	h.OnUpdate(configMap("web"), configMap("web"))
	h.OnDelete(configMap("web"))
	p.generic(t.Context(), event.GenericEvent{Object: configMap("web")})
}

func TestPredicatesAreAskedInOrderUntilOneSaysNo(t *testing.T) {
	var asked []string
	var told diary
	allEvents(t, newPipeline(newQueue(), &told, []predicate.Predicate{asks("first", true, &asked), asks("second", false, &asked), asks("third", true, &asked)}))
	require.Equal(t, []string{"first create", "second create", "first update", "second update", "first delete", "second delete", "first generic", "second generic"}, asked)
	require.Empty(t, told.read())
}

func TestWhatAllPredicatesAcceptReachesTheHandler(t *testing.T) {
	var asked []string
	var told diary
	allEvents(t, newPipeline(newQueue(), &told, []predicate.Predicate{asks("first", true, &asked)}))
	require.Len(t, asked, 4)
	require.Equal(t, []string{"create web, initial: true", `update web, "" to ""`, "delete web, unknown: false", "generic web"}, told.read())
}

func TestAnObjectWhoseEndNobodySawIsTheLastStateThatIsKnown(t *testing.T) {
	var told diary
	h := informerHandler[client.Object, reconcile.Request]{t.Context(), newPipeline(newQueue(), &told, nil)}
	h.OnDelete(informer.DeletedFinalStateUnknown{Key: "shop/web", Obj: configMap("web")})
	require.Equal(t, []string{"delete web, unknown: true"}, told.read())
}

// A cache of somebody else's making may hand out anything. That is no reason for a crash.
func TestWhatIsNoObjectIsLoggedAndDropped(t *testing.T) {
	var told diary
	queue := newQueue()
	h := informerHandler[client.Object, reconcile.Request]{t.Context(), newPipeline(queue, &told, nil)}
	for _, wrong := range []any{nil, "web", (*corev1.ConfigMap)(nil), corev1.ConfigMap{}} {
		h.OnAdd(wrong, false)
		h.OnUpdate(wrong, configMap("web"))
		h.OnUpdate(configMap("web"), wrong)
		h.OnDelete(wrong)
		h.OnDelete(informer.DeletedFinalStateUnknown{Key: "web", Obj: wrong})
	}
	require.Empty(t, told.read())
	require.Len(t, queue.log.With("not about an object"), 20)
	require.Len(t, queue.log.With(`"type"="v1.ConfigMap"`), 5)
	for _, event := range []string{"create", "update", "delete"} {
		require.NotEmpty(t, queue.log.With(`"event"="`+event+`"`), event)
	}
}

// Somebody who wonders why nothing happened looks there.
func TestTheFlightRecorderKnowsWhatWasDroppedAndWhatWasAdded(t *testing.T) {
	queue := newQueue()
	h := informerHandler[client.Object, reconcile.Request]{t.Context(), newPipeline(queue, &handler.EnqueueRequestForObject{}, []predicate.Predicate{predicate.GenerationChangedPredicate{}})}
	old, changed := configMap("web"), configMap("web")
	changed.ResourceVersion = "5"
	h.OnUpdate(old, changed)
	h.OnDelete(changed)
	var story []trace.Event
	for _, e := range queue.recorder.Events() {
		e.At, e.Seq = 0, 0
		story = append(story, e)
	}
	about := trace.Event{Layer: "mirror", Object: "ConfigMap", Namespace: namespace, Name: "web", Version: "5"}
	dropped, passed, added := about, about, about
	dropped.Kind, dropped.Op, dropped.Outcome, dropped.Reason = trace.Predicate, "update", trace.Filtered, "GenerationChangedPredicate"
	passed.Kind, passed.Op, passed.Outcome = trace.Predicate, "delete", trace.Passed
	added.Kind, added.Op, added.Reason, added.ToNamespace, added.ToName = trace.Handler, "delete", "EnqueueRequestForObject", namespace, "web"
	require.Equal(t, []trace.Event{dropped, passed, added}, story)
	require.Equal(t, []string{"web"}, queue.waiting())
}

func TestRequestsHaveTheEventAsTheirReason(t *testing.T) {
	queue := newQueue()
	h := informerHandler[client.Object, reconcile.Request]{t.Context(), newPipeline(queue, &handler.EnqueueRequestForObject{}, nil)}
	h.OnDelete(configMap("web"))
	work, err := queue.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"delete of ConfigMap shop/web"}, work.Causes.Reasons())
}

// A user's test may start a source with any queue.
func TestAQueueThatIsNoControllersWorksAsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := logtest.Read(t)
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultLimiter[reconcile.Request]())
		defer q.ShutDown()
		h := informerHandler[client.Object, reconcile.Request]{t.Context(), newPipeline(q, &handler.EnqueueRequestForObject{}, nil)}
		h.OnAdd(configMap("web"), false)
		h.OnAdd("web", false)
		require.Equal(t, 1, q.Len())
		require.Contains(t, log.String(), "not about an object")
	})
}
