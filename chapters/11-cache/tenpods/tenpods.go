// Package tenpods is what both programs of the chapter do: a loop creates Pods until ten are there.
package tenpods

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// Work is the two things that the loop does.
type Work struct {
	Count  func(ctx context.Context) (int, error)
	Create func(ctx context.Context, pod *corev1.Pod) error
}

// Story runs the loop, and counts what it has made of it.
func Story(prepare func(d *demo.Demo, cache *mini.Cache) (Work, error)) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		cluster, err := mini.NewCluster(d.Config(), scheme.Scheme)
		if err != nil {
			return err
		}
		cache := mini.NewCache(cluster)
		work, err := prepare(d, cache)
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancel(ctx)
		ended := make(chan error)
		go func() { ended <- cache.Run(ctx) }()
		err = cache.WaitForSync(ctx)
		if err == nil {
			err = d.Step("1. A loop creates Pods until ten are there", func() error {
				return loop(ctx, d, work)
			})
		}
		stop()
		<-ended
		return err
	}
}

func loop(ctx context.Context, d *demo.Demo, work Work) error {
	began := time.Now()
	var counted []string
	for {
		found, err := work.Count(ctx)
		if err != nil {
			return err
		}
		counted = append(counted, fmt.Sprint(found))
		if found >= 10 {
			break
		}
		if err := work.Create(ctx, podIn(d)); err != nil {
			return err
		}
	}
	took := time.Since(began).Round(time.Millisecond)
	d.Say("It counted %s, and ended after %s.", strings.Join(counted, ", "), took)
	pods, err := d.Client.CoreV1().Pods(d.Namespace).List(ctx, metav1.ListOptions{})
	if err == nil {
		d.Say("There are %d Pods.", len(pods.Items))
	}
	return err
}

func podIn(d *demo.Demo) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, GenerateName: "web-"},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Image: d.Image}},
		},
	}
}
