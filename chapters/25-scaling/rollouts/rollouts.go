// Package rollouts is what the programs of chapters 25 and 26 share: a Deployment named web, the
// controllers that they are about, and a user. The story of chapter 25 is in story.go, and the
// kubelet of the tests in kubelet.go.
package rollouts

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// BadImage is one that no node can pull. Its Pods never become ready.
const BadImage = "registry.invalid/web:2"

// Controller returns the controller of Deployments that a program is about.
type Controller func(m *mini.Manager) (*mini.Controller, error)

// Web is the Deployment, as a user sees it.
type Web struct {
	ctx context.Context
	d   *demo.Demo
}

// Begin starts the controllers of ReplicaSets and Deployments. stop ends them, and waits.
func Begin(ctx context.Context, d *demo.Demo, deployments Controller) (web *Web, stop func(), err error) {
	cluster, err := mini.NewCluster(d.Config(), scheme.Scheme)
	if err != nil {
		return nil, nil, err
	}
	cluster.Trace = d.Hidden()
	m := mini.NewManager(cluster)
	for _, add := range []Controller{mini.NewReplicaSetController, deployments} {
		c, err := add(m)
		if err != nil {
			return nil, nil, err
		}
		m.AddController(c)
	}
	web = &Web{ctx: ctx, d: d}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := m.Run(ctx); err != nil {
			d.Say("%v", err)
		}
	}()
	return web, func() { cancel(); <-ended }, nil
}

// Create creates the Deployment. It keeps the defaults: a quarter of its Pods may be missing, and
// a quarter more may be there.
func (w *Web) Create(replicas int32, change ...func(*appsv1.Deployment)) error {
	labels := map[string]string{"app": "web"}
	web := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: w.d.Image}}},
			},
		},
	}
	for _, change := range change {
		change(web)
	}
	_, err := w.d.Client.AppsV1().Deployments(w.d.Namespace).Create(w.ctx, web, metav1.CreateOptions{})
	return err
}

// Change changes the Deployment. If the controller was faster, it tries again.
func (w *Web) Change(change func(*appsv1.Deployment)) error {
	api := w.d.Client.AppsV1().Deployments(w.d.Namespace)
	for {
		web, err := api.Get(w.ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(web)
		if _, err := api.Update(w.ctx, web, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// Image returns a change of the image.
func Image(image string) func(*appsv1.Deployment) {
	return func(web *appsv1.Deployment) { web.Spec.Template.Spec.Containers[0].Image = image }
}

// Sets returns the ReplicaSets, oldest revision first.
func (w *Web) Sets() ([]appsv1.ReplicaSet, error) {
	list, err := w.d.Client.AppsV1().ReplicaSets(w.d.Namespace).List(w.ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b appsv1.ReplicaSet) int {
		return mini.Revision(&a) - mini.Revision(&b)
	})
	return list.Items, nil
}

// Settle waits until the ReplicaSets have not changed for 4 s: either all is done, or nothing
// gets on.
func (w *Web) Settle() ([]appsv1.ReplicaSet, error) {
	seen, quiet := "", 0
	for {
		sets, err := w.Sets()
		if err != nil || quiet == 40 {
			return sets, err
		}
		quiet++
		var now string
		for _, rs := range sets {
			now += fmt.Sprint(rs.UID, rs.ResourceVersion, " ")
		}
		if now != seen {
			seen, quiet = now, 0
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-w.ctx.Done():
			return nil, w.ctx.Err()
		}
	}
}
