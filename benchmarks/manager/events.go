package manager

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upstreamqueue "k8s.io/client-go/util/workqueue"
	upstreampriority "sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	upstreamevent "sigs.k8s.io/controller-runtime/pkg/event"
	upstreamhandler "sigs.k8s.io/controller-runtime/pkg/handler"
	upstreampredicate "sigs.k8s.io/controller-runtime/pkg/predicate"
	upstream "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/loopwright/loopwright/manager/controller/priorityqueue"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// Event is an event that both sides can be told of. Op is create, update, delete or generic; Old
// is there only for an update, and Flag is IsInInitialList or DeleteStateUnknown.
type Event struct {
	Op       string
	Old, New *corev1.Pod
	Flag     bool
}

// String is for the messages of tests.
func (e Event) String() string {
	return fmt.Sprintf("%s (%t) of %s, before %s", e.Op, e.Flag, describe(e.New), describe(e.Old))
}

func describe(pod *corev1.Pod) string {
	if pod == nil {
		return "nothing"
	}
	var owners []string
	for _, ref := range pod.OwnerReferences {
		owners = append(owners, fmt.Sprintf("%s %s %s %t", ref.APIVersion, ref.Kind, ref.Name, ref.Controller != nil && *ref.Controller))
	}
	return fmt.Sprintf("%s/%s version %s generation %d labels %v annotations %v owners [%s]", pod.Namespace, pod.Name,
		pod.ResourceVersion, pod.Generation, pod.Labels, pod.Annotations, strings.Join(owners, ", "))
}

// RandomEvent makes an event of objects that have few different values, so that they are often
// equal in something.
func RandomEvent(r *rand.Rand) Event {
	e := Event{Op: []string{"create", "update", "delete", "generic"}[r.IntN(4)], New: randomPod(r), Flag: r.IntN(2) == 0}
	if e.Op == "update" {
		if e.Old = e.New.DeepCopy(); r.IntN(4) > 0 { // a quarter are resyncs
			e.Old = randomPod(r)
			e.Old.Namespace, e.Old.Name = e.New.Namespace, e.New.Name
		}
	}
	return e
}

func randomPod(r *rand.Rand) *corev1.Pod {
	values := func() map[string]string {
		m := map[string]string{}
		for _, key := range []string{"app", "tier"} {
			if r.IntN(2) == 0 {
				m[key] = fmt.Sprint(r.IntN(2))
			}
		}
		return m
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: fmt.Sprint("namespace-", r.IntN(2)), Name: fmt.Sprint("pod-", r.IntN(3)),
		ResourceVersion: fmt.Sprint(r.IntN(3)), Generation: int64(r.IntN(2)), Labels: values(), Annotations: values(),
	}}
	for range r.IntN(4) {
		ref := metav1.OwnerReference{
			APIVersion: []string{"apps/v1", "apps/v1", "v1", "batch/v1"}[r.IntN(4)], Kind: []string{"ReplicaSet", "Node"}[r.IntN(2)], Name: fmt.Sprint("owner-", r.IntN(3)),
		}
		if r.IntN(2) == 0 {
			ref.Controller = new(r.IntN(3) > 0)
		}
		pod.OwnerReferences = append(pod.OwnerReferences, ref)
	}
	return pod
}

// Mapper knows the kinds of the owners.
func Mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), meta.RESTScopeNamespace)
	m.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	return m
}

// AskOurs and AskTheirs return a predicate's verdict.
func AskOurs(p predicate.Predicate, e Event) bool {
	switch e.Op {
	case "create":
		return p.Create(event.CreateEvent{Object: e.New, IsInInitialList: e.Flag})
	case "update":
		return p.Update(event.UpdateEvent{ObjectOld: e.Old, ObjectNew: e.New})
	case "delete":
		return p.Delete(event.DeleteEvent{Object: e.New, DeleteStateUnknown: e.Flag})
	default:
		return p.Generic(event.GenericEvent{Object: e.New})
	}
}

func AskTheirs(p upstreampredicate.Predicate, e Event) bool {
	switch e.Op {
	case "create":
		return p.Create(upstreamevent.CreateEvent{Object: e.New, IsInInitialList: e.Flag})
	case "update":
		return p.Update(upstreamevent.UpdateEvent{ObjectOld: e.Old, ObjectNew: e.New})
	case "delete":
		return p.Delete(upstreamevent.DeleteEvent{Object: e.New, DeleteStateUnknown: e.Flag})
	default:
		return p.Generic(upstreamevent.GenericEvent{Object: e.New})
	}
}

// TellOurs and TellTheirs hand an event to a handler.
func TellOurs(ctx context.Context, h handler.EventHandler, e Event, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	switch e.Op {
	case "create":
		h.Create(ctx, event.CreateEvent{Object: e.New, IsInInitialList: e.Flag}, q)
	case "update":
		h.Update(ctx, event.UpdateEvent{ObjectOld: e.Old, ObjectNew: e.New}, q)
	case "delete":
		h.Delete(ctx, event.DeleteEvent{Object: e.New, DeleteStateUnknown: e.Flag}, q)
	default:
		h.Generic(ctx, event.GenericEvent{Object: e.New}, q)
	}
}

func TellTheirs(ctx context.Context, h upstreamhandler.EventHandler, e Event, q upstreamqueue.TypedRateLimitingInterface[upstream.Request]) {
	switch e.Op {
	case "create":
		h.Create(ctx, upstreamevent.CreateEvent{Object: e.New, IsInInitialList: e.Flag}, q)
	case "update":
		h.Update(ctx, upstreamevent.UpdateEvent{ObjectOld: e.Old, ObjectNew: e.New}, q)
	case "delete":
		h.Delete(ctx, upstreamevent.DeleteEvent{Object: e.New, DeleteStateUnknown: e.Flag}, q)
	default:
		h.Generic(ctx, upstreamevent.GenericEvent{Object: e.New}, q)
	}
}

// Written are queues that write down what they are given, and do nothing else. The two sides have
// different types for it.
type (
	OurQueue struct {
		priorityqueue.PriorityQueue[reconcile.Request] // nil: handlers only add
		Adds                                           []string
	}
	TheirQueue struct {
		upstreampriority.PriorityQueue[upstream.Request]
		Adds []string
	}
)

func (q *OurQueue) Add(r reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, r) }
func (q *OurQueue) AddAfter(r reconcile.Request, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, r)
}
func (q *OurQueue) AddRateLimited(r reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, r)
}
func (q *OurQueue) AddWithOpts(o priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, r := range requests {
		q.Adds = append(q.Adds, written(r.String(), o.After, o.RateLimited, o.Priority))
	}
}

func (q *TheirQueue) Add(r upstream.Request) { q.AddWithOpts(upstreampriority.AddOpts{}, r) }
func (q *TheirQueue) AddAfter(r upstream.Request, after time.Duration) {
	q.AddWithOpts(upstreampriority.AddOpts{After: after}, r)
}
func (q *TheirQueue) AddRateLimited(r upstream.Request) {
	q.AddWithOpts(upstreampriority.AddOpts{RateLimited: true}, r)
}
func (q *TheirQueue) AddWithOpts(o upstreampriority.AddOpts, requests ...upstream.Request) {
	for _, r := range requests {
		q.Adds = append(q.Adds, written(r.String(), o.After, o.RateLimited, o.Priority))
	}
}

func written(request string, after time.Duration, limited bool, priority *int) string {
	number := 0
	if priority != nil {
		number = *priority
	}
	return fmt.Sprintf("%s at %d after %s limited %t", request, number, after, limited)
}

// Take returns what was added, sorted: controller-runtime adds the owners in the order of a map.
func (q *OurQueue) Take() []string   { return sorted(&q.Adds) }
func (q *TheirQueue) Take() []string { return sorted(&q.Adds) }

func sorted(adds *[]string) []string {
	taken := slices.Sorted(slices.Values(*adds))
	*adds = (*adds)[:0]
	return taken
}
