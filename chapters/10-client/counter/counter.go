// Package counter is what both programs of the chapter do: two clients count in one ConfigMap.
package counter

import (
	"context"
	"errors"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// Story has two clients that increment the counter 20 times each.
func Story(
	increment func(ctx context.Context, client *mini.Client, key mini.Request) error,
) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		cluster, err := mini.NewCluster(d.Config(), scheme.Scheme)
		if err != nil {
			return err
		}
		client := &mini.Client{Cluster: cluster}
		key := mini.Request{Namespace: d.Namespace, Name: "counter"}
		return d.Step("1. Two clients add 1 to a counter, 20 times each", func() error {
			err := client.Create(ctx, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
			})
			if err != nil {
				return err
			}
			var both sync.WaitGroup
			errs := make([]error, 2)
			for i := range errs {
				both.Go(func() {
					for range 20 {
						errs[i] = errors.Join(errs[i], increment(ctx, client, key))
					}
				})
			}
			both.Wait()
			counter, err := mini.Get[*corev1.ConfigMap](ctx, client, key)
			d.Say("The counter is at %s.", counter.Data["count"])
			return errors.Join(append(errs, err)...)
		})
	}
}

// AddOne adds 1 to the count in the ConfigMap.
func AddOne(counter *corev1.ConfigMap) {
	count, _ := strconv.Atoi(counter.Data["count"]) // none is 0
	counter.Data = map[string]string{"count": strconv.Itoa(count + 1)}
}
