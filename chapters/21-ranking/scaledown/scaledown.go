// Package scaledown is what both programs of the chapter do: a ReplicaSet with two Pods that serve
// and two that do not is scaled down to two.
package scaledown

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/chapters/12-first-replicaset/restart"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// Story makes the four Pods, scales down, and reports which Pods are left.
func Story(reconciler func(*mini.CachedClient) mini.Reconciler) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		sets := d.Client.AppsV1().ReplicaSets(d.Namespace)
		err := d.Step("1. web has four Pods; the image of web-a and web-b doesn't exist", func() error {
			web := restart.Web(d)
			web.Spec.Replicas = new(int32(4))
			web, err := sets.Create(ctx, web, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			for name, image := range map[string]string{
				"web-a": noImage, "web-b": noImage, "web-y": d.Image, "web-z": d.Image,
			} {
				pod := restart.PodOf(web)
				pod.Name, pod.GenerateName = name, ""
				pod.Spec.Containers[0].Image = image
				_, err := d.Client.CoreV1().Pods(d.Namespace).Create(ctx, pod, metav1.CreateOptions{})
				if err != nil {
					return err
				}
			}
			return until(ctx, d, func(pods, ready []string) bool { return len(ready) == 2 })
		})
		if err != nil {
			return err
		}
		return d.Step("2. A user scales web to two", func() error {
			patch := []byte(`{"spec":{"replicas":2}}`)
			_, err := sets.Patch(ctx, "web", "application/merge-patch+json", patch, metav1.PatchOptions{})
			if err != nil {
				return err
			}
			ctx, stop := context.WithCancel(ctx)
			ended := make(chan error)
			go func() { ended <- control(ctx, d, reconciler) }()
			err = until(ctx, d, func(pods, ready []string) bool { return len(pods) == 2 })
			stop()
			return errors.Join(err, <-ended)
		})
	}
}

// noImage is of a host that cannot exist, so no node can get it.
const noImage = "registry.invalid/web:2"

// until waits until the Pods are as wanted, and reports what they are.
func until(ctx context.Context, d *demo.Demo, wanted func(pods, ready []string) bool) error {
	for {
		list, err := d.Client.CoreV1().Pods(d.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var pods, ready []string
		for _, pod := range list.Items {
			if pod.DeletionTimestamp != nil {
				continue
			}
			pods = append(pods, pod.Name)
			if isReady(&pod) {
				ready = append(ready, pod.Name)
			}
		}
		if wanted(pods, ready) {
			d.Say("Pods: %s.", strings.Join(pods, ", "))
			d.Say("Ready: %s.", cmp.Or(strings.Join(ready, ", "), "none"))
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// control runs the reconciler for ReplicaSets until ctx ends.
func control(ctx context.Context, d *demo.Demo, reconciler func(*mini.CachedClient) mini.Reconciler) error {
	cluster, err := mini.NewCluster(d.Config(), scheme.Scheme)
	if err != nil {
		return err
	}
	cluster.Trace = d.Hidden()
	cache := mini.NewCache(cluster)
	sets, err := cache.Informer(&appsv1.ReplicaSet{})
	if err != nil {
		return err
	}
	c := mini.NewController("replicaset", reconciler(mini.NewCachedClient(cache)))
	c.Trace, c.Queue.Trace = cluster.Trace, cluster.Trace
	here := func(c mini.Change) bool { return c.Object().GetNamespace() == d.Namespace }
	c.Watch(sets, mini.EnqueueObject, here)
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- cache.Run(ctx) }()
	err = c.Run(ctx)
	stop()
	return errors.Join(err, <-ended)
}
