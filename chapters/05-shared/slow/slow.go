// Package slow is what both programs of the chapter do: two handlers, of which one is slow, and a
// third that is added late.
package slow

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// Informer tells its handlers of all changes while it runs.
type Informer interface {
	Add(handle func(mini.Change))
	Run(ctx context.Context) error
}

// Story creates five Secrets, and says when a handler knew all of them.
func Story(of func(fruit *mini.ListWatch) Informer) func(context.Context, *demo.Demo) error {
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
		informer := of(fruit)
		told := make(chan mini.Change, 5) // a slow handler, and a fast one
		ctx, stop := context.WithCancel(ctx)
		informer.Add(func(mini.Change) { demo.Sleep(ctx, time.Second) })
		informer.Add(func(change mini.Change) { told <- change })

		ended := make(chan error)
		go func() { ended <- informer.Run(ctx) }()
		err = d.Step("1. A user creates five Secrets", func() error {
			demo.Sleep(ctx, time.Second)
			began := time.Now()
			for i := range 5 {
				secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("fruit-", i)}}
				_, err := d.Client.CoreV1().Secrets(d.Namespace).Create(ctx, secret, metav1.CreateOptions{})
				if err != nil {
					return err
				}
			}
			for range 5 {
				select {
				case <-told:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			d.Say("The fast handler knew all five after %.0f s.", time.Since(began).Seconds())
			return nil
		})
		if err == nil {
			err = d.Step("2. A third handler is added", func() error {
				var known atomic.Int32
				informer.Add(func(mini.Change) { known.Add(1) })
				demo.Sleep(ctx, time.Second)
				d.Say("It has heard of %d of 5 Secrets.", known.Load())
				return nil
			})
		}
		stop()
		return errors.Join(err, <-ended)
	}
}
