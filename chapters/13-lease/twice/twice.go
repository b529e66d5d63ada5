// Package twice is what both programs of the chapter do: two processes run one controller.
package twice

import (
	"context"
	"errors"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/chapters/12-first-replicaset/restart"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// Process is one of the two. It works until ctx ends.
type Process func(ctx context.Context, cluster *mini.Cluster, d *demo.Demo, name string) error

// Story starts two processes, asks for three Pods, stops the first process, and asks for four.
func Story(process Process) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		d.Show(func(e trace.Event) bool { return e.Kind == trace.Lease })
		sets := d.Client.AppsV1().ReplicaSets(d.Namespace)
		ctx, stop := context.WithCancel(ctx)
		var running sync.WaitGroup
		defer running.Wait()
		defer stop()
		start := func(name string) (stop func(), err error) {
			cluster, err := mini.NewCluster(d.Config(), scheme.Scheme)
			if err != nil {
				return nil, err
			}
			cluster.Trace = d.Recorder
			ctx, stop := context.WithCancel(ctx)
			running.Go(func() {
				if err := process(ctx, cluster, d, name); err != nil {
					d.Say("%v", err)
				}
			})
			time.Sleep(500 * time.Millisecond)
			return stop, nil
		}
		var stopA func()
		err := d.Step("1. Processes a and b run the controller; web asks for three Pods", func() error {
			var err1, err2 error
			stopA, err1 = start("a")
			_, err2 = start("b")
			_, err3 := sets.Create(ctx, restart.Web(d), metav1.CreateOptions{})
			time.Sleep(3 * time.Second)
			tell(d)
			return errors.Join(err1, err2, err3)
		})
		if err != nil {
			return err
		}
		return d.Step("2. Process a is stopped; web asks for four Pods", func() error {
			stopA()
			time.Sleep(500 * time.Millisecond)
			rs, err := sets.Get(ctx, "web", metav1.GetOptions{})
			if err != nil {
				return err
			}
			rs.Spec.Replicas = new(int32(4))
			_, err = sets.Update(ctx, rs, metav1.UpdateOptions{})
			time.Sleep(3 * time.Second)
			tell(d)
			return err
		})
	}
}

// tell counts what both processes have written so far.
func tell(d *demo.Demo) {
	written := map[string]int{}
	for _, e := range d.Recorder.Events() {
		if e.Kind == trace.Write && e.Object == "Pod" && e.Outcome == 0 {
			written[e.Op]++
		}
	}
	d.Say("Pods created so far: %d; deleted: %d.", written["create"], written["delete"])
}

// Control runs chapter 12's controller.
func Control(ctx context.Context, cluster *mini.Cluster, d *demo.Demo) error {
	cache := mini.NewCache(cluster)
	sets, err1 := cache.Informer(&appsv1.ReplicaSet{})
	pods, err2 := cache.Informer(&corev1.Pod{})
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	reconciler := &mini.FirstReplicaSet{Client: mini.NewCachedClient(cache)}
	c := mini.NewController("replicaset", reconciler)
	here := func(c mini.Change) bool { return c.Object().GetNamespace() == d.Namespace }
	ofSets := schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
	c.Watch(sets, mini.EnqueueObject, here)
	c.Watch(pods, mini.EnqueueOwner(ofSets), here)
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- cache.Run(ctx) }()
	err := c.Run(ctx)
	stop()
	return errors.Join(err, <-ended)
}
