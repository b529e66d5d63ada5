package chapters

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	upstreampriority "sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	upstreamhandler "sigs.k8s.io/controller-runtime/pkg/handler"
	upstream "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/loopwright/loopwright/benchmarks/manager"
	"github.com/loopwright/loopwright/manager/controller/priorityqueue"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/mini"
)

// A Pod changes, and its ReplicaSet's request goes into the queue and out again. Most Pods have one owner. What does each
// other one cost?
func Benchmark09(b *testing.B) {
	compare(b, "from a Pod's change to its owner's request", "owners", []int{1, 20},
		peer{"mini", func(b *testing.B, n int) {
			was, is := ownedPods(n)
			handle := mini.EnqueueOwner(schema.GroupKind{Group: "apps", Kind: "ReplicaSet"})
			q := mini.NewQueue("bench")
			for b.Loop() {
				for _, req := range handle(mini.Change{Old: was, New: is}) {
					q.Add(req)
				}
				req, _ := q.Get()
				q.Done(req)
			}
		}},
		peer{"library", func(b *testing.B, n int) {
			was, is := ownedPods(n)
			handle := handler.EnqueueRequestForOwner(scheme.Scheme, manager.Mapper(), &appsv1.ReplicaSet{}, handler.OnlyControllerOwner())
			q := priorityqueue.New[reconcile.Request]("")
			defer q.ShutDown()
			for b.Loop() {
				manager.TellOurs(context.Background(), handle, manager.Event{Op: "update", Old: was, New: is}, q)
				req, _ := q.Get()
				q.Done(req)
			}
		}},
		peer{"controller-runtime", func(b *testing.B, n int) {
			was, is := ownedPods(n)
			handle := upstreamhandler.EnqueueRequestForOwner(scheme.Scheme, manager.Mapper(), &appsv1.ReplicaSet{}, upstreamhandler.OnlyControllerOwner())
			q := upstreampriority.New("", func(o *upstreampriority.Opts[upstream.Request]) { o.Log = logr.Discard() })
			defer q.ShutDown()
			for b.Loop() {
				manager.TellTheirs(context.Background(), handle, manager.Event{Op: "update", Old: was, New: is}, q)
				req, _ := q.Get()
				q.Done(req)
			}
		}},
	)
}

// ownedPods are two states of a Pod with n owners, of which the last is its controller.
func ownedPods(n int) (was, is *corev1.Pod) {
	is = pods(1)[0]
	for i := range n {
		is.OwnerReferences = append(is.OwnerReferences, metav1.OwnerReference{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: fmt.Sprint("web-", i), Controller: new(i == n-1),
		})
	}
	was = is.DeepCopy()
	was.ResourceVersion = "1"
	return was, is
}
