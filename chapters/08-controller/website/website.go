// Package website is the controller of Websites, as chapter 8 leaves it.
package website

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// New returns the controller. Its queue writes to the recorder.
func New(r *Reconciler, recorder *trace.Recorder) *mini.Controller {
	c := mini.NewController("websites", r)
	c.Queue.Trace = recorder // before the first handler can add
	websites := r.Websites.AddHandler(func(change mini.Change) {
		c.Queue.Add(mini.KeyOf(change.Object()))
	})
	c.WaitFor = append(c.WaitFor, websites.WaitForSync)
	return c
}

// Reconciler gives each Website the Pods that it wants.
type Reconciler struct {
	Websites *mini.SharedInformer
	Client   kubernetes.Interface
	Image    string // of a web server
}

// Reconcile creates the missing Pods, and deletes the surplus.
func (r *Reconciler) Reconcile(
	ctx context.Context, req mini.Request,
) (mini.Result, error) {
	site, ok := r.Websites.Get(req).(*example.Website)
	if !ok {
		return mini.Result{}, nil // it was deleted
	}
	pages := r.Client.CoreV1().ConfigMaps(site.Namespace)
	if _, err := pages.Get(ctx, site.Spec.Page, metav1.GetOptions{}); err != nil {
		return mini.Result{}, fmt.Errorf("the page of %s: %w", site.Name, err)
	}
	api := r.Client.CoreV1().Pods(site.Namespace)
	list, err := api.List(ctx, metav1.ListOptions{
		LabelSelector: example.Label + "=" + site.Name,
	})
	if err != nil {
		return mini.Result{}, err
	}
	pods, want := list.Items, int(*site.Spec.Replicas)
	for range want - len(pods) {
		_, err := api.Create(ctx, example.PodFor(site, r.Image), metav1.CreateOptions{})
		if err != nil {
			return mini.Result{}, err
		}
	}
	for _, pod := range pods[min(want, len(pods)):] {
		if err := api.Delete(ctx, pod.Name, metav1.DeleteOptions{}); err != nil {
			return mini.Result{}, err
		}
	}
	return mini.Result{}, nil
}
