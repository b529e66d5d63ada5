// Package overlap is what both programs of the chapter do: a ReplicaSet meets Pods that it has not
// made, and then another ReplicaSet that wants the same ones.
package overlap

import (
	"context"
	"errors"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/chapters/12-first-replicaset/restart"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// FindPods returns the Pods that count for a ReplicaSet.
type FindPods func(
	ctx context.Context, client *mini.CachedClient, rs *appsv1.ReplicaSet,
) ([]*corev1.Pod, error)

// counting is chapter 12's controller with another answer to the question which Pods count.
type counting struct {
	client   *mini.CachedClient
	findPods FindPods
}

// Reconcile brings the number of Pods to the number that the ReplicaSet wants.
func (c *counting) Reconcile(ctx context.Context, req mini.Request) (mini.Result, error) {
	rs, err := mini.Get[*appsv1.ReplicaSet](ctx, c.client, req)
	if err != nil {
		return mini.Result{}, mini.IgnoreNotFound(err)
	}
	if rs.DeletionTimestamp != nil {
		return mini.Result{}, nil
	}
	pods, err := c.findPods(ctx, c.client, rs)
	if err != nil {
		return mini.Result{}, err
	}
	pods = slices.DeleteFunc(pods, isEnding)
	want := int(*rs.Spec.Replicas)
	for range want - len(pods) {
		if err := c.client.Create(ctx, restart.PodOf(rs)); err != nil {
			return mini.Result{}, err
		}
	}
	for _, pod := range pods[min(want, len(pods)):] {
		if err := c.client.Delete(ctx, pod, metav1.DeleteOptions{}); err != nil {
			return mini.Result{}, err
		}
	}
	return mini.Result{}, nil
}

func isEnding(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil }

// Story plays three steps, and reports after each what the controller wrote, and who owns the Pods.
func Story(findPods FindPods) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		d.Show(func(trace.Event) bool { return false })
		sets, pods := d.Client.AppsV1().ReplicaSets(d.Namespace), d.Client.CoreV1().Pods(d.Namespace)
		for _, name := range []string{"a", "b"} {
			if _, err := pods.Create(ctx, orphan(d, name), metav1.CreateOptions{}); err != nil {
				return err
			}
		}
		err := d.Step("1. Pods a and b have web's labels; web wants three Pods", func() error {
			_, err := sets.Create(ctx, restart.Web(d), metav1.CreateOptions{})
			return errors.Join(err, runFor(ctx, d, findPods))
		})
		if err != nil {
			return err
		}
		err = d.Step("2. A user changes the label of the Pod that the controller created", func() error {
			return errors.Join(relabel(ctx, d), runFor(ctx, d, findPods))
		})
		if err != nil {
			return err
		}
		return d.Step("3. Another ReplicaSet, canary, has web's selector and wants one Pod", func() error {
			canary := restart.Web(d)
			canary.Name, canary.Spec.Replicas = "canary", new(int32(1))
			_, err := sets.Create(ctx, canary, metav1.CreateOptions{})
			return errors.Join(err, runFor(ctx, d, findPods))
		})
	}
}

// orphan is a Pod that a user has made by hand.
func orphan(d *demo.Demo, name string) *corev1.Pod {
	template := restart.Web(d).Spec.Template
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: template.Labels}, Spec: template.Spec,
	}
}

func relabel(ctx context.Context, d *demo.Demo) error {
	pods := d.Client.CoreV1().Pods(d.Namespace)
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, pod := range list.Items {
		if pod.GenerateName != "" {
			patch := []byte(`{"metadata":{"labels":{"app":"debug"}}}`)
			_, err := pods.Patch(ctx, pod.Name, "application/merge-patch+json", patch, metav1.PatchOptions{})
			return err
		}
	}
	return errors.New("the controller has created no Pod")
}

// runFor runs the controller for two seconds, which is enough for all that it has to do, and reports.
func runFor(ctx context.Context, d *demo.Demo, findPods FindPods) error {
	running, stop := context.WithTimeout(ctx, 2*time.Second)
	defer stop()
	cluster, err := mini.NewCluster(d.Config(), scheme.Scheme)
	if err != nil {
		return err
	}
	cluster.Trace = d.Recorder
	writes := d.Recorder.Cursor()
	writes.Read() // those of the step before
	if err := control(running, d, cluster, findPods); err != nil {
		return err
	}
	count := map[string]int{}
	events, _ := writes.Read()
	for _, e := range events {
		if e.Kind == trace.Write && e.Outcome == 0 {
			count[e.Op]++
		}
	}
	d.Say("Pods created: %d; deleted: %d; patched: %d.",
		count["create"], count["delete"], count["patch"])
	return tell(ctx, d)
}

// tell says how many Pods there are, and whose they are.
func tell(ctx context.Context, d *demo.Demo) error {
	list, err := d.Client.CoreV1().Pods(d.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	of := map[string]int{}
	for _, pod := range list.Items {
		if isEnding(&pod) {
			continue
		}
		owner := "nothing"
		if ref := metav1.GetControllerOf(&pod); ref != nil {
			owner = ref.Name
		}
		of[owner]++
	}
	d.Say("Owned by web: %d; by canary: %d; without an owner: %d.", of["web"], of["canary"], of["nothing"])
	return nil
}

// control is chapter 12's, except that each Pod concerns all ReplicaSets of its namespace: one of
// them may want it.
func control(ctx context.Context, d *demo.Demo, cluster *mini.Cluster, findPods FindPods) error {
	cache := mini.NewCache(cluster)
	sets, err := cache.Informer(&appsv1.ReplicaSet{})
	if err != nil {
		return err
	}
	pods, err := cache.Informer(&corev1.Pod{})
	if err != nil {
		return err
	}
	c := mini.NewController("replicaset", &counting{mini.NewCachedClient(cache), findPods})
	c.Trace, c.Queue.Trace = d.Recorder, d.Recorder
	here := func(c mini.Change) bool { return c.Object().GetNamespace() == d.Namespace }
	c.Watch(sets, mini.EnqueueObject, here)
	c.Watch(pods, mini.EnqueueMapped(func(mini.Object) (all []mini.Request) {
		near, _ := sets.ByIndex(mini.ByNamespace, d.Namespace) // a Cache's informers have it
		for _, rs := range near {
			all = append(all, mini.KeyOf(rs))
		}
		return all
	}), here)
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- cache.Run(ctx) }()
	err = c.Run(ctx)
	stop()
	return errors.Join(err, <-ended)
}
