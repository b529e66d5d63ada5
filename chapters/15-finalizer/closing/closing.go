// Package closing is what both programs of the chapter do: a Website is deleted, and the process
// that should remove its page from the CDN is stopped.
package closing

import (
	"context"
	"errors"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/chapters/example/website"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// Run is the main function of a process. It works until ctx ends.
type Run func(ctx context.Context, p website.Process) error

// Story opens a Website, deletes it, stops the process meanwhile, and starts another one.
func Story(run Run) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		slog.SetDefault(slog.New(slog.DiscardHandler)) // the reconcile that is stopped
		d.Show(func(e trace.Event) bool {              // finalizers are patched
			return e.Kind == trace.Write && e.Object == "Website" && e.Op == "patch"
		})
		return example.With(ctx, d, func(sites example.Websites) error {
			s := &story{Demo: d, sites: sites, cdn: website.NewCDN(d.Say), run: run}
			defer s.release(context.WithoutCancel(ctx))
			steps := []struct {
				ask, title string
				play       func(context.Context) error
			}{
				{"", "1. A user creates shop, which wants no Pods: the CDN serves it", s.open},
				{"is shop gone, and what do visitors see?",
					"2. A user deletes shop; half a second later the process is stopped", s.close},
				{"what does it find, and who removes the page?",
					"3. The next process starts", s.again},
			}
			for _, step := range steps {
				d.Ask(step.ask)
				err := d.Step(step.title, func() error { return step.play(ctx) })
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
}

type story struct {
	*demo.Demo
	sites example.Websites
	cdn   *website.CDN
	run   Run
	stop  func() error
}

func (s *story) open(ctx context.Context) error {
	page := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "home"},
		Data:       map[string]string{"index.html": "Hello!"},
	}
	_, err1 := s.Client.CoreV1().ConfigMaps(s.Namespace).Create(ctx, page, metav1.CreateOptions{})
	err2 := s.sites.Create(ctx, &example.Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "shop"},
		Spec:       example.WebsiteSpec{Page: "home", Replicas: new(int32(0))},
	})
	if err := errors.Join(err1, err2, s.start(ctx, "a")); err != nil {
		return err
	}
	for s.cdn.Uploaded() < 1 && ctx.Err() == nil {
		time.Sleep(50 * time.Millisecond)
	}
	return nil
}

func (s *story) close(ctx context.Context) error {
	if err := s.sites.Delete(ctx, s.Namespace, "shop"); err != nil {
		return err
	}
	time.Sleep(500 * time.Millisecond)
	return errors.Join(s.stop(), s.look(ctx))
}

func (s *story) again(ctx context.Context) error {
	if err := s.start(ctx, "b"); err != nil {
		return err
	}
	time.Sleep(3 * time.Second) // it has done by then what it has to do
	return errors.Join(s.look(ctx), s.stop())
}

// release lets shop go, if the story was interrupted: its finalizer would block the deletion of the
// namespace.
func (s *story) release(ctx context.Context) {
	_ = s.sites.Patch(ctx, s.Namespace, "shop", `{"metadata":{"finalizers":null}}`) // mostly, it has been deleted
}

// look says what is left of shop.
func (s *story) look(ctx context.Context) error {
	site, err := s.sites.Get(ctx, s.Namespace, "shop")
	switch {
	case apierrors.IsNotFound(err):
		s.Say("The Website is gone.")
	case err != nil:
		return err
	default:
		s.Say("The Website is being deleted, and waits for %q.", site.Finalizers)
	}
	s.Say("Visitors see %q.", s.cdn.Shows(mini.Request{Namespace: s.Namespace, Name: "shop"}))
	return nil
}

// start starts a process, which works until stop is called.
func (s *story) start(ctx context.Context, name string) error {
	p, err := website.NewProcess(s.Demo, s.cdn, name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx, p) }()
	s.stop = func() error {
		cancel()
		return <-ended
	}
	return nil
}
