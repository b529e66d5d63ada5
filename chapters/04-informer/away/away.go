// Package away is what both programs of the chapter do: a watcher is away for a moment, in which
// objects change.
package away

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// Runnable watches until ctx ends. It runs again with what it knows.
type Runnable interface {
	Run(ctx context.Context) error
}

// Story runs what watch returns, stops it, changes the fruit, and runs it again.
func Story(watch func(d *demo.Demo, fruit *mini.ListWatch) Runnable) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		cluster, err := mini.NewCluster(d.Config(), scheme.Scheme)
		if err != nil {
			return err
		}
		cluster.Trace = d.Hidden()
		fruit, err := cluster.ListWatch(&corev1.Secret{}, d.Namespace)
		if err != nil {
			return err
		}
		watcher := watch(d, fruit)
		secrets := d.Client.CoreV1().Secrets(d.Namespace)
		create := func(name string) error {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}
			_, err := secrets.Create(ctx, secret, metav1.CreateOptions{})
			return err
		}
		run := func(meanwhile func() error) error {
			ctx, stop := context.WithCancel(ctx)
			ended := make(chan error)
			go func() { ended <- watcher.Run(ctx) }()
			demo.Sleep(ctx, time.Second)
			err := meanwhile()
			demo.Sleep(ctx, time.Second)
			stop()
			return errors.Join(err, <-ended)
		}
		err = d.Step("1. A user creates an apple and a banana", func() error {
			return run(func() error { return errors.Join(create("apple"), create("banana")) })
		})
		if err != nil {
			return err
		}
		return d.Step("2. The watch is away; a user deletes the banana and creates a cherry", func() error {
			err := secrets.Delete(ctx, "banana", metav1.DeleteOptions{})
			err = errors.Join(err, create("cherry"))
			return errors.Join(err, run(func() error { return nil }))
		})
	}
}
