// Package quota is what both programs of the chapter do: a ReplicaSet is reconciled twice in a row,
// and another one meets a quota.
package quota

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/chapters/12-first-replicaset/restart"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// Prepare returns the Reconciler that the story is about.
type Prepare func(cache *mini.Cache) (mini.Reconciler, error)

// Story calls Reconcile by hand, as a controller would, so that its requests can be counted.
func Story(prepare Prepare) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		d.Show(func(trace.Event) bool { return false })
		cluster, err := mini.NewCluster(d.Config(), scheme.Scheme)
		if err != nil {
			return err
		}
		cluster.Trace = d.Recorder
		cache := mini.NewCache(cluster)
		reconciler, err := prepare(cache)
		if err != nil {
			return err
		}
		running, stop := context.WithCancel(ctx)
		ended := make(chan error)
		go func() { ended <- cache.Run(running) }()
		err = cache.WaitForSync(ctx)
		if err == nil {
			err = steps(ctx, d, reconciler)
		}
		stop()
		return errors.Join(err, <-ended)
	}
}

func steps(ctx context.Context, d *demo.Demo, reconciler mini.Reconciler) error {
	err := d.Step("1. Ten ReplicaSets want one Pod each; each is reconciled twice in a row", func() error {
		var sets []mini.Request
		for i := range 10 {
			rs, err := create(ctx, d, fmt.Sprintf("web-%d", i), 1)
			if err != nil {
				return err
			}
			sets = append(sets, mini.KeyOf(rs))
		}
		settle(ctx)
		for _, key := range sets {
			for range 2 {
				if _, err := reconciler.Reconcile(ctx, key); err != nil {
					return err
				}
			}
		}
		d.Say("There are %d Pods.", count(ctx, d))
		return nil
	})
	if err != nil {
		return err
	}
	return d.Step("2. big wants 500 Pods, but a quota allows only 3 more", func() error {
		if err := allow(ctx, d, count(ctx, d)+3); err != nil {
			return err
		}
		big, err := create(ctx, d, "big", 500)
		if err != nil {
			return err
		}
		settle(ctx)
		requests := d.Recorder.Cursor()
		for try := range 3 {
			requests.Read() // what was sent before
			_, err := reconciler.Reconcile(ctx, mini.KeyOf(big))
			if !apierrors.IsForbidden(err) {
				return fmt.Errorf("the quota had to refuse a Pod: %w", err)
			}
			created, refused := creations(requests)
			d.Say("Try %d: Pods created: %d; requests refused: %d.", try+1, created, refused)
			settle(ctx)
		}
		return tell(ctx, d)
	})
}

func create(
	ctx context.Context, d *demo.Demo, name string, replicas int32,
) (*appsv1.ReplicaSet, error) {
	rs := restart.Web(d)
	rs.Name, rs.Spec.Replicas = name, &replicas
	rs.Spec.Selector.MatchLabels["app"] = name // the template has the same map
	return d.Client.AppsV1().ReplicaSets(d.Namespace).Create(ctx, rs, metav1.CreateOptions{})
}

// settle is longer than a watch is behind.
func settle(ctx context.Context) { demo.Sleep(ctx, 2*time.Second) }

func count(ctx context.Context, d *demo.Demo) int {
	list, err := d.Client.CoreV1().Pods(d.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		d.Say("%v", err)
	}
	return len(list.Items)
}

// allow creates a quota, and waits until it applies.
func allow(ctx context.Context, d *demo.Demo, pods int) error {
	quotas := d.Client.CoreV1().ResourceQuotas(d.Namespace)
	_, err := quotas.Create(ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "few"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			corev1.ResourcePods: *resource.NewQuantity(int64(pods), resource.DecimalSI),
		}},
	}, metav1.CreateOptions{})
	for err == nil {
		var quota *corev1.ResourceQuota
		quota, err = quotas.Get(ctx, "few", metav1.GetOptions{})
		if err == nil && len(quota.Status.Hard) > 0 {
			return nil
		}
		demo.Sleep(ctx, 100*time.Millisecond)
	}
	return err
}

// creations counts the requests that create Pods.
func creations(requests *trace.Cursor) (created, refused int) {
	events, _ := requests.Read()
	for _, e := range events {
		if e.Kind == trace.Write && e.Op == "create" && e.Object == "Pod" {
			if e.Outcome == trace.Failed {
				refused++
			} else {
				created++
			}
		}
	}
	return created, refused
}

// tell prints what kubectl get and kubectl describe show of big.
func tell(ctx context.Context, d *demo.Demo) error {
	rs, err := d.Client.AppsV1().ReplicaSets(d.Namespace).Get(ctx, "big", metav1.GetOptions{})
	if err != nil {
		return err
	}
	conditions := "no condition"
	for _, c := range rs.Status.Conditions {
		conditions = fmt.Sprintf("%s: %s", c.Type, c.Reason)
	}
	d.Say("The status of big: %d Pods, %s.", rs.Status.Replicas, conditions)
	return nil
}
