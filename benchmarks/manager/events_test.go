package manager

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	upstreamclient "sigs.k8s.io/controller-runtime/pkg/client"
	upstreampriority "sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	upstreamhandler "sigs.k8s.io/controller-runtime/pkg/handler"
	upstream "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/priorityqueue"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// BenchmarkHandleAndTake is an update that a handler turns into one request, which goes through the default queue of each side to
// a worker. Our requests have a reason: "unread" doesn't read it, and "read" does.
func BenchmarkHandleAndTake(b *testing.B) {
	updates := podEvents()
	for _, c := range handlersToMeasure() {
		b.Run(c.name, func(b *testing.B) {
			for _, read := range []bool{false, true} {
				b.Run(map[bool]string{false: "unread", true: "read"}[read], func(b *testing.B) {
					b.Run("ours", func(b *testing.B) {
						b.ReportAllocs()
						q := priorityqueue.New[reconcile.Request]("")
						next := q.(nextQueue).Next
						for i := 0; b.Loop(); i++ {
							TellOurs(b.Context(), c.ours, updates[i%len(updates)], q)
							work, _ := next(b.Context())
							if read && work.Causes.String() == "" {
								b.Fatal("there is no reason")
							}
							q.Done(work.Item)
						}
						q.ShutDown()
					})
					b.Run("controller-runtime", func(b *testing.B) {
						b.ReportAllocs()
						q := upstreampriority.New("", func(o *upstreampriority.Opts[upstream.Request]) { o.Log = logr.Discard() })
						for i := 0; b.Loop(); i++ {
							TellTheirs(b.Context(), c.theirs, updates[i%len(updates)], q)
							item, _ := q.Get()
							q.Done(item)
						}
						q.ShutDown()
					})
				})
			}
		})
	}
}

// podEvents are updates of a thousand Pods that a ReplicaSet controls.
func podEvents() (updates []Event) {
	for i := range 1000 {
		is := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprint("namespace-", i%50), Name: fmt.Sprintf("web-7c5ddbdf54-%05d", i), ResourceVersion: "2",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: fmt.Sprint("web-", i), Controller: new(true)}}}}
		was := is.DeepCopy()
		was.ResourceVersion = "1"
		updates = append(updates, Event{Op: "update", Old: was, New: is})
	}
	return updates
}

func handlersToMeasure() []pair {
	name := types.NamespacedName{Namespace: "shop", Name: "web"}
	ours, theirs := []reconcile.Request{{NamespacedName: name}}, []upstream.Request{{NamespacedName: name}}
	return []pair{
		{"object", &handler.EnqueueRequestForObject{}, &upstreamhandler.EnqueueRequestForObject{}},
		{"owner", handler.EnqueueRequestForOwner(scheme.Scheme, Mapper(), &appsv1.ReplicaSet{}, handler.OnlyControllerOwner()),
			upstreamhandler.EnqueueRequestForOwner(scheme.Scheme, Mapper(), &appsv1.ReplicaSet{}, upstreamhandler.OnlyControllerOwner())},
		{"map-function", handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return ours }),
			upstreamhandler.EnqueueRequestsFromMapFunc(func(context.Context, upstreamclient.Object) []upstream.Request { return theirs })},
	}
}

// nextQueue is what our queue can do besides.
type nextQueue interface {
	Next(context.Context) (workqueue.Work[reconcile.Request], error)
}
