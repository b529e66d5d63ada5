// Command 12-first-replicaset runs mini's first ReplicaSet controller.
package main

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/chapters/12-first-replicaset/restart"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

func main() {
	demo.Main("Chapter 12: a first ReplicaSet",
		alone.Story(restart.Story(run), "replicaset-controller"),
		demo.Predict(1, "the program shows each write of the controller. "+
			"How many writes does each step have?",
			"the lines that say write").Until(3))
}

// run puts the parts together: an informer for each kind, a controller, its watches.
func run(ctx context.Context, d *demo.Demo, cluster *mini.Cluster) error {
	d.Show(func(e trace.Event) bool { return e.Kind == trace.Write })
	cluster.Trace = d.Recorder
	cache := mini.NewCache(cluster)
	sets, err := cache.Informer(&appsv1.ReplicaSet{})
	if err != nil {
		return err
	}
	pods, err := cache.Informer(&corev1.Pod{})
	if err != nil {
		return err
	}
	reconciler := &mini.FirstReplicaSet{Client: mini.NewCachedClient(cache)}
	c := mini.NewController("replicaset", reconciler)
	c.Trace, c.Queue.Trace = d.Recorder, d.Recorder
	here := func(c mini.Change) bool { return c.Object().GetNamespace() == d.Namespace }
	c.Watch(sets, mini.EnqueueObject, here)
	ofSets := schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
	c.Watch(pods, mini.EnqueueOwner(ofSets), here)

	ended := make(chan error)
	ctx, stop := context.WithCancel(ctx)
	go func() { ended <- cache.Run(ctx) }()
	err = c.Run(ctx)
	stop()
	return errors.Join(err, <-ended)
}
