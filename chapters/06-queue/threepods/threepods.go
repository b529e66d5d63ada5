// Package threepods is what both programs of the chapter do: a ConfigMap wants three Pods.
package threepods

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// Story starts the workers, makes a ConfigMap, changes it while a worker is busy, and counts the Pods.
func Story(
	work func(ctx context.Context, d *demo.Demo, configMaps *mini.SharedInformer),
) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		cluster, err := mini.NewCluster(d.Config(), scheme.Scheme)
		if err != nil {
			return err
		}
		source, err := cluster.ListWatch(&corev1.ConfigMap{}, d.Namespace)
		if err != nil {
			return err
		}
		configMaps := mini.NewSharedInformer(source, nil)
		ctx, stop := context.WithCancel(ctx)
		ended := make(chan error)
		work(ctx, d, configMaps)
		go func() { ended <- configMaps.Run(ctx) }()
		err = d.Step("1. The ConfigMap web is created, and changed 0.2 s later", func() error {
			return ask(ctx, d)
		})
		stop()
		<-ended
		return err
	}
}

func ask(ctx context.Context, d *demo.Demo) error {
	client := d.Client.CoreV1().ConfigMaps(d.Namespace)
	web := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	web, err := client.Create(ctx, web, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	demo.Sleep(ctx, 200*time.Millisecond)
	web.Data = map[string]string{"color": "green"}
	if _, err := client.Update(ctx, web, metav1.UpdateOptions{}); err != nil {
		return err
	}
	demo.Sleep(ctx, 3*time.Second)
	pods, err := d.Client.CoreV1().Pods(d.Namespace).List(ctx, metav1.ListOptions{})
	if err == nil {
		d.Say("web wants three Pods and has %d.", len(pods.Items))
	}
	return err
}

// Reconcile creates the Pods that are missing.
func Reconcile(ctx context.Context, d *demo.Demo, worker int, req mini.Request) error {
	pods, err := d.Client.CoreV1().Pods(req.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: "app=" + req.Name,
	})
	if err != nil {
		return err
	}
	found := len(pods.Items)
	d.Say("Worker %d reconciles %s and finds %d of 3 Pods.", worker, req.Name, found)
	time.Sleep(500 * time.Millisecond) // deciding takes a moment
	for range 3 - found {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				GenerateName: req.Name + "-", Labels: map[string]string{"app": req.Name},
			},
			Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "c", Image: d.Image}},
			},
		}
		pods := d.Client.CoreV1().Pods(req.Namespace)
		if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}
