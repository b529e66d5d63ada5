// Command naive is a Deployment controller with one ReplicaSet.
package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/23-template/web"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 23, naive: one ReplicaSet",
		alone.Story(web.Story(oneReplicaSet), "replicaset-controller", "deployment-controller"),
		demo.Predict(2, "how many Pods are available while version 2 is rolled out, "+
			"at the worst moment?",
			"the first line above"),
		demo.Predict(3, "what does the user need to go back to version 1?",
			"the line above"))
}

// oneReplicaSet keeps a ReplicaSet with the Deployment's name and template. If the
// template has changed, it deletes all Pods: their ReplicaSet creates new ones.
func oneReplicaSet(c *mini.CachedClient) mini.Reconciler {
	reconcile := func(ctx context.Context, req mini.Request) (r mini.Result, err error) {
		d, err := mini.Get[*appsv1.Deployment](ctx, c, req)
		if err != nil {
			return r, err
		}
		rs, err := mini.Get[*appsv1.ReplicaSet](ctx, c, req)
		if apierrors.IsNotFound(err) {
			return r, c.Create(ctx, replicaSet(d))
		}
		if err != nil {
			return r, err
		}
		template := d.Spec.Template
		if equality.Semantic.DeepEqual(rs.Spec.Template, template) {
			return r, nil
		}
		rs.Spec.Template = template
		if err := c.Update(ctx, rs); err != nil {
			return r, err
		}
		pods, err := mini.OwnedBy[*corev1.Pod](ctx, c, rs)
		for _, pod := range pods {
			if err := c.Delete(ctx, pod, metav1.DeleteOptions{}); err != nil {
				return r, err
			}
		}
		return r, err
	}
	return mini.ReconcilerFunc(reconcile)
}

func replicaSet(d *appsv1.Deployment) *appsv1.ReplicaSet {
	kind := appsv1.SchemeGroupVersion.WithKind("Deployment")
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: d.Name,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, kind)},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: d.Spec.Replicas, Selector: d.Spec.Selector, Template: d.Spec.Template,
		},
	}
}
