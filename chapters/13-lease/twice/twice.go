// Package twice is what both programs of the chapter do: two processes run the controller of
// Websites.
package twice

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/11-cache/website"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// Process is what one process doesn't share with others.
type Process struct {
	Cluster   *mini.Cluster
	Namespace string
	Name      string

	image string
}

// Reconciler returns the Reconciler of Websites.
func (p Process) Reconciler(client *mini.CachedClient) *website.Reconciler {
	return &website.Reconciler{Client: client, Image: p.image}
}

// Run is the main function of a process. It works until ctx ends.
type Run func(ctx context.Context, p Process) error

// Story starts two processes, sets shop to three Pods, stops the first process, and sets shop to four.
func Story(run Run) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		slog.SetDefault(slog.New(slog.DiscardHandler)) // conflicts are retried
		d.Show(func(e trace.Event) bool { return e.Kind == trace.Lease })
		return example.With(ctx, d, func(sites example.Websites) error {
			s := &story{Demo: d, sites: sites, run: run}
			ctx, stop := context.WithCancel(ctx)
			defer s.running.Wait()
			defer stop()
			d.Ask("how many Pods do the two create, and does it end with three?")
			err := d.Step("1. Processes a and b run the controller; shop wants three Pods",
				func() error { return s.open(ctx) })
			if err != nil {
				return err
			}
			d.Ask("a is stopped in an orderly way. How long does neither of the two work?")
			return d.Step("2. Process a is stopped; shop wants four Pods",
				func() error { return s.grow(ctx) })
		})
	}
}

type story struct {
	*demo.Demo
	sites   example.Websites
	run     Run
	running sync.WaitGroup
	stopA   func()
}

// start starts a process. stop tells it to stop.
func (s *story) start(ctx context.Context, name string) (stop func(), err error) {
	cluster, err := mini.NewCluster(s.Config(), example.NewScheme())
	if err != nil {
		return nil, err
	}
	cluster.Trace = s.Recorder
	p := Process{Cluster: cluster, Namespace: s.Namespace, Name: name, image: s.Image}
	ctx, stop = context.WithCancel(ctx)
	s.running.Go(func() {
		if err := s.run(ctx, p); err != nil {
			s.Say("%v", err)
		}
	})
	time.Sleep(500 * time.Millisecond)
	return stop, nil
}

func (s *story) open(ctx context.Context) (err error) {
	page := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "home"}}
	_, err = s.Client.CoreV1().ConfigMaps(s.Namespace).Create(ctx, page, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if s.stopA, err = s.start(ctx, "a"); err != nil {
		return err
	}
	if _, err = s.start(ctx, "b"); err != nil {
		return err
	}
	err = s.sites.Create(ctx, &example.Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "shop"},
		Spec:       example.WebsiteSpec{Page: "home", Replicas: new(int32(3))},
	})
	return errors.Join(err, s.tell(ctx))
}

func (s *story) grow(ctx context.Context) error {
	s.stopA()
	time.Sleep(500 * time.Millisecond)
	err := s.sites.Patch(ctx, s.Namespace, "shop", `{"spec":{"replicas":4}}`)
	return errors.Join(err, s.tell(ctx))
}

// tell counts what both processes have written so far, and the Pods that there are.
func (s *story) tell(ctx context.Context) error {
	time.Sleep(3 * time.Second) // whatever happens has happened by then
	written := map[string]int{}
	for _, e := range s.Recorder.Events() {
		if e.Kind == trace.Write && e.Object == "Pod" && e.Outcome == 0 {
			written[e.Op]++
		}
	}
	pods, err := s.Client.CoreV1().Pods(s.Namespace).List(ctx, metav1.ListOptions{})
	if err == nil {
		s.Say("Pods created so far: %d. Requests to delete one: %d. Pods now: %d.",
			written["create"], written["delete"], len(pods.Items))
	}
	return err
}
