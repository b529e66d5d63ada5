// Package checking is what both programs of the chapter do: the controller of Websites also checks
// the links of each page, and a user corrects a page meanwhile.
package checking

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/chapters/10-client/website"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// Annotation is on a page, and has the text in which the links were checked.
const Annotation = "web.example.com/checked"

// Check checks the links of a page and writes the Annotation. links takes its time.
type Check func(
	ctx context.Context, client *mini.Client, page mini.Request, links func(text string),
) error

// Story opens a Website, and changes its page twice while the controller checks the links.
func Story(check Check) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		slog.SetDefault(slog.New(slog.DiscardHandler)) // conflicts are retried
		d.Show(func(e trace.Event) bool {
			return e.Kind == trace.Write && e.Object == "ConfigMap" && e.Outcome != trace.Conflict
		})
		return example.With(ctx, d, func(sites example.Websites) error {
			s := &story{
				Demo: d, sites: sites, checking: make(chan struct{}, 100), reconciled: make(chan struct{}, 1),
			}
			stop, err := s.start(ctx, check)
			if err != nil {
				return err
			}
			defer stop()
			err = d.Step("1. shop wants two Pods, and a page with checked links", func() error {
				return s.open(ctx)
			})
			if err != nil {
				return err
			}
			d.Ask("what does the page say in the end, and does the program print an error?")
			return d.Step("2. A user changes the page, and corrects a typo while its links are checked",
				func() error { return s.correct(ctx) })
		})
	}
}

type story struct {
	*demo.Demo
	sites    example.Websites
	checking chan struct{} // one for each check that begins; more than there ever are

	reconciled chan struct{} // full if a reconcile has succeeded since checked has looked
}

// start starts the controller. stop waits until it has ended.
func (s *story) start(ctx context.Context, check Check) (stop func(), err error) {
	cluster, err := mini.NewCluster(s.Config(), example.NewScheme())
	if err != nil {
		return nil, err
	}
	cluster.Trace = s.Recorder
	var informers []*mini.SharedInformer
	for _, like := range []mini.Object{&example.Website{}, &corev1.Pod{}, &corev1.ConfigMap{}} {
		source, err := cluster.ListWatch(like, s.Namespace)
		if err != nil {
			return nil, err
		}
		informer := mini.NewSharedInformer(source, nil)
		informer.Trace = s.Recorder
		informers = append(informers, informer)
	}
	r := &website.Reconciler{
		Websites: informers[0], Pods: informers[1], Pages: informers[2],
		Client: &mini.Client{Cluster: cluster}, Image: s.Image,
	}
	c := website.New(r)
	c.Trace, c.Queue.Trace = s.Recorder, s.Recorder
	c.Reconciler = mini.ReconcilerFunc(
		func(ctx context.Context, req mini.Request) (mini.Result, error) {
			result, err := r.Reconcile(ctx, req)
			if err != nil {
				return result, err
			}
			page := mini.Request{Namespace: req.Namespace, Name: "home"}
			err = check(ctx, r.Client, page, s.links)
			if apierrors.IsConflict(err) {
				s.Say("The update is refused: 409 Conflict. The controller returns the error.")
			}
			if err == nil {
				select {
				case s.reconciled <- struct{}{}:
				default:
				}
			}
			return result, err
		})
	ctx, cancel := context.WithCancel(ctx)
	var parts sync.WaitGroup
	for _, informer := range informers {
		parts.Go(func() { _ = informer.Run(ctx) }) // it returns nil
	}
	parts.Go(func() { _ = c.Run(ctx) })
	return func() { cancel(); parts.Wait() }, nil
}

// links follows all links of a text, which takes a while.
func (s *story) links(text string) {
	s.Say("The controller checks the links of %q.", text)
	s.checking <- struct{}{}
	time.Sleep(500 * time.Millisecond)
}

func (s *story) open(ctx context.Context) error {
	page := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "home"},
		Data:       map[string]string{"index.html": "Hello!"},
	}
	_, err1 := s.Client.CoreV1().ConfigMaps(s.Namespace).Create(ctx, page, metav1.CreateOptions{})
	err2 := s.sites.Create(ctx, &example.Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "shop"},
		Spec:       example.WebsiteSpec{Page: "home", Replicas: new(int32(2))},
	})
	if err := errors.Join(err1, err2, s.checked(ctx)); err != nil {
		return err
	}
	pods, err := s.Client.CoreV1().Pods(s.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: example.Label + "=shop",
	})
	if err == nil {
		s.Say("Pods of shop: %d.", len(pods.Items))
	}
	return err
}

func (s *story) correct(ctx context.Context) error {
	if err := s.write(ctx, "Sael!"); err != nil {
		return err
	}
	select {
	case <-s.checking:
	case <-ctx.Done():
		return ctx.Err()
	}
	time.Sleep(100 * time.Millisecond)
	return errors.Join(s.write(ctx, "Sale!"), s.checked(ctx))
}

// write is what kubectl edit does.
func (s *story) write(ctx context.Context, text string) error {
	s.Say("The user writes %q.", text)
	_, err := s.Client.CoreV1().ConfigMaps(s.Namespace).Patch(ctx, "home", types.MergePatchType,
		[]byte(`{"data":{"index.html":"`+text+`"}}`), metav1.PatchOptions{})
	return err
}

// checked waits until the links of the page are checked, and says what the page is then.
func (s *story) checked(ctx context.Context) error {
	for {
		select {
		case <-s.reconciled:
		case <-ctx.Done():
			return ctx.Err()
		}
		page, err := s.Client.CoreV1().ConfigMaps(s.Namespace).Get(ctx, "home", metav1.GetOptions{})
		if err != nil {
			return err
		}
		text := page.Data["index.html"]
		if page.Annotations[Annotation] == text {
			s.Say("The page says %q.", text)
			for len(s.checking) > 0 {
				<-s.checking
			}
			return nil
		}
	}
}
