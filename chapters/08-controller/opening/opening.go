// Package opening is what both programs of the chapter do: three Websites open, and two of them
// have something missing.
package opening

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/08-controller/website"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// Story runs the controller, which ends when its context does, and plays the user.
func Story(
	run func(context.Context, *demo.Demo, *website.Reconciler) error,
) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		slog.SetDefault(slog.New(slog.DiscardHandler)) // the stack of each panic is long
		return example.With(ctx, d, func(sites example.Websites) error {
			cluster, err := mini.NewCluster(d.Config(), example.NewScheme())
			if err != nil {
				return err
			}
			source, err := cluster.ListWatch(&example.Website{}, d.Namespace)
			if err != nil {
				return err
			}
			r := &website.Reconciler{
				Websites: mini.NewSharedInformer(source, nil), Client: d.Client, Image: d.Image,
			}
			running, stop := context.WithCancel(ctx)
			var parts sync.WaitGroup
			var failed error
			parts.Go(func() { failed = run(running, d, r) })
			parts.Go(func() { _ = r.Websites.Run(running) }) // it returns nil
			err = (&user{d, sites}).acts(ctx)
			stop()
			parts.Wait()
			return errors.Join(err, failed)
		})
	}
}

type user struct {
	*demo.Demo
	sites example.Websites
}

func (u *user) acts(ctx context.Context) error {
	steps := []struct {
		ask, title string
		play       func() error
	}{
		{"how many Pods does shop have, half a second after its page came?",
			"1. shop wants two Pods. Its page comes half a second later", func() error {
				err := u.create(ctx, "shop", new(int32(2)))
				time.Sleep(500 * time.Millisecond)
				page := &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Name: "home"},
					Data:       map[string]string{"index.html": "<h1>Hello</h1>"},
				}
				pages := u.Client.CoreV1().ConfigMaps(u.Namespace)
				_, err2 := pages.Create(ctx, page, metav1.CreateOptions{})
				time.Sleep(500 * time.Millisecond)
				return errors.Join(err, err2, u.count(ctx, "shop"))
			}},
		{"", "2. A user changes shop: three Pods", func() error {
			err := u.sites.Patch(ctx, u.Namespace, "shop", `{"spec":{"replicas":3}}`)
			time.Sleep(500 * time.Millisecond)
			return errors.Join(err, u.count(ctx, "shop"))
		}},
		{"how many Pods does news get?",
			"3. blog doesn't say how many. news wants one", func() error {
				err := u.create(ctx, "blog", nil)
				time.Sleep(50 * time.Millisecond)
				err2 := u.create(ctx, "news", new(int32(1)))
				time.Sleep(450 * time.Millisecond)
				return errors.Join(err, err2, u.count(ctx, "news"))
			}},
		{"", "4. A user corrects blog: one Pod", func() error {
			err := u.sites.Patch(ctx, u.Namespace, "blog", `{"spec":{"replicas":1}}`)
			time.Sleep(500 * time.Millisecond)
			return errors.Join(err, u.count(ctx, "blog"))
		}},
	}
	for _, step := range steps {
		u.Ask(step.ask)
		if err := u.Step(step.title, step.play); err != nil {
			return err
		}
	}
	return nil
}

func (u *user) create(ctx context.Context, name string, replicas *int32) error {
	return u.sites.Create(ctx, &example.Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: u.Namespace, Name: name},
		Spec:       example.WebsiteSpec{Page: "home", Replicas: replicas},
	})
}

func (u *user) count(ctx context.Context, name string) error {
	pods, err := u.Client.CoreV1().Pods(u.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: example.Label + "=" + name,
	})
	if err == nil {
		u.Say("Pods of %s: %d.", name, len(pods.Items))
	}
	return err
}
