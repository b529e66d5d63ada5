// Package webpods is what both programs of the chapter do: they count the Pods of the app web.
package webpods

import (
	"context"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// Store is what the programs differ in.
type Store interface {
	Update(pod mini.Object)
	// Relist makes the store what the API server has.
	Relist(ctx context.Context) error
	// WebPods returns the names of the Pods with the label app=web.
	WebPods() []string
}

// Story plays with a store.
func Story(newStore func(d *demo.Demo) (Store, error)) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		store, err := newStore(d)
		if err != nil {
			return err
		}
		if err := d.Step("1. There are three Pods of the app web", func() error {
			for _, name := range []string{"web-1", "web-2", "web-3"} {
				if err := create(ctx, d, name); err != nil {
					return err
				}
			}
			err := store.Relist(ctx)
			d.Say("The store finds %v.", store.WebPods())
			return err
		}); err != nil {
			return err
		}
		if err := d.Step("2. A user takes web-1 out of service: app=debug", func() error {
			pod, err := label(ctx, d, "web-1", "debug")
			if err != nil {
				return err
			}
			store.Update(pod)
			d.Say("The store finds %v.", store.WebPods())
			return nil
		}); err != nil {
			return err
		}
		return d.Step("3. The program lists again, over a slow network, and counts", func() error {
			return countDuringRelist(ctx, d, store)
		})
	}
}

// countDuringRelist reports how many Pods a reader finds, each time that the number changes.
func countDuringRelist(ctx context.Context, d *demo.Demo, store Store) error {
	last := -1
	count := func() {
		if n := len(store.WebPods()); n != last {
			d.Say("A reader counts %d.", n)
			last = n
		}
	}
	count()
	done := make(chan error)
	go func() { done <- store.Relist(ctx) }()
	for {
		select {
		case err := <-done:
			count()
			return err
		case <-time.After(10 * time.Millisecond):
			count()
		}
	}
}

func create(ctx context.Context, d *demo.Demo, name string) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: d.Image}}},
	}
	_, err := d.Client.CoreV1().Pods(d.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

func label(ctx context.Context, d *demo.Demo, name, app string) (*corev1.Pod, error) {
	patch := []byte(`{"metadata":{"labels":{"app":"` + app + `"}}}`)
	return d.Client.CoreV1().Pods(d.Namespace).Patch(
		ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
}

// Names returns the names of objects, sorted.
func Names(objects []mini.Object) (names []string) {
	for _, obj := range objects {
		names = append(names, obj.GetName())
	}
	slices.Sort(names)
	return names
}

// SlowNetwork returns a config whose requests take 0.1 s longer.
func SlowNetwork(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return slow{next} })
	return config
}

type slow struct{ next http.RoundTripper }

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(105 * time.Millisecond)
	return s.next.RoundTrip(r)
}
