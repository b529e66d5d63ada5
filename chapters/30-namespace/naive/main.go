// Command naive is a namespace controller that deletes what it has heard of, and is done.
package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/30-namespace/tenant"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	tenant.Main("Chapter 30, naive: empty the namespace, and let it go", prepare,
		demo.Predict(1,
			"a user deletes the namespace while its Pod is being drained. What's left 10 seconds later?",
			"the second list"),
		demo.Predict(2,
			"another team creates a namespace with that name. What's in it?",
			"the last list"))
}

// kinds are those that "kubectl get all" shows first.
var kinds = []mini.Object{
	&corev1.Pod{}, &corev1.Service{}, &appsv1.Deployment{}, &appsv1.ReplicaSet{},
}

// prepare empties each namespace that is deleted, and lets it go.
func prepare(d *demo.Demo, m *mini.Manager) error {
	m.Cluster.Trace = d.Hidden()
	empty := func(ctx context.Context, req mini.Request) (mini.Result, error) {
		ns, err := mini.Get[*corev1.Namespace](ctx, m.Client, req)
		if err != nil {
			return mini.Result{}, mini.IgnoreNotFound(err)
		}
		if ns.DeletionTimestamp == nil {
			return mini.Result{}, nil
		}
		for _, like := range kinds {
			objs, err := m.Client.List(ctx, like, mini.Selection{Namespace: ns.Name})
			if err != nil {
				return mini.Result{}, err
			}
			for _, obj := range objs {
				err := m.Client.Delete(ctx, obj, metav1.DeleteOptions{})
				if mini.IgnoreNotFound(err) != nil {
					return mini.Result{}, err
				}
			}
		}
		ns.Spec.Finalizers = nil
		_, err = d.Client.CoreV1().Namespaces().Finalize(ctx, ns, metav1.UpdateOptions{})
		return mini.Result{}, mini.IgnoreNotFound(err)
	}
	namespaces, err := m.Cache.Informer(&corev1.Namespace{})
	if err != nil {
		return err
	}
	c := mini.NewController("namespace", mini.ReconcilerFunc(empty))
	c.Watch(namespaces, mini.EnqueueObject)
	m.AddController(c)
	return nil
}
