// Package handover is what both programs of the chapter do: a process starts without a name, and
// later one process hands the work over to another.
package handover

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/chapters/example/website"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// Run is the main function of a process. It gets ctx from signal.NotifyContext.
type Run func(ctx context.Context, p website.Process) error

// Story starts a process that lacks a name; then processes a and b, of which a is stopped.
func Story(run Run) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		slog.SetDefault(slog.New(slog.DiscardHandler)) // a status that is written too late
		d.Show(func(e trace.Event) bool { return e.Kind == trace.Lease })
		return example.With(ctx, d, func(sites example.Websites) error {
			s := &story{Demo: d, sites: sites, cdn: website.NewCDN(d.Say), run: run}
			defer s.running.Wait()
			d.Ask("does the process do its work, and what does its log say?")
			err := d.Step("1. shop wants two Pods; a process starts whose POD_NAME isn't set",
				func() error { return s.nameless(ctx) })
			if err != nil {
				return err
			}
			d.Ask("when does b begin its upload, and what do visitors see in the end?")
			return d.Step("2. Processes a and b start; a is stopped while it uploads the page",
				func() error { return s.handover(ctx) })
		})
	}
}

type story struct {
	*demo.Demo
	sites   example.Websites
	cdn     *website.CDN
	run     Run
	running sync.WaitGroup
}

// start starts a process. stop sends it a signal.
func (s *story) start(ctx context.Context, name string) (stop func(), ended chan error, err error) {
	p, err := website.NewProcess(s.Demo, s.cdn, name)
	if err != nil {
		return nil, nil, err
	}
	ctx, signal := context.WithCancelCause(ctx)
	ended = make(chan error, 1)
	s.running.Go(func() { ended <- s.run(ctx, p) })
	return func() { signal(errors.New("terminated signal received")) }, ended, nil
}

func (s *story) nameless(ctx context.Context) error {
	page := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "home"},
		Data:       map[string]string{"index.html": "Hello!"},
	}
	_, err := s.Client.CoreV1().ConfigMaps(s.Namespace).Create(ctx, page, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	err = s.sites.Create(ctx, &example.Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "shop"},
		Spec:       example.WebsiteSpec{Page: "home", Replicas: new(int32(2))},
	})
	if err != nil {
		return err
	}
	stop, ended, err := s.start(ctx, "")
	if err != nil {
		return err
	}
	defer stop()
	select {
	case err := <-ended:
		s.Say("The process has ended: %v", err)
	case <-time.After(4 * time.Second):
		pods, err := s.Client.CoreV1().Pods(s.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		s.Say("The process has been running for 4 seconds. shop has %d Pods.", len(pods.Items))
	}
	return nil
}

func (s *story) handover(ctx context.Context) error {
	stopA, _, err := s.start(ctx, "a")
	if err != nil {
		return err
	}
	defer stopA()
	time.Sleep(500 * time.Millisecond) // a has the lease by then
	stopB, _, err := s.start(ctx, "b")
	if err != nil {
		return err
	}
	defer stopB()
	time.Sleep(500 * time.Millisecond)
	s.Say("a is told to stop. A user changes the page.")
	stopA()
	_, err = s.Client.CoreV1().ConfigMaps(s.Namespace).Patch(ctx, "home", types.MergePatchType,
		[]byte(`{"data":{"index.html":"Sale!"}}`), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	for s.cdn.Uploaded() < 2 && ctx.Err() == nil {
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(2 * time.Second) // b has repaired by then what it knows of
	s.Say("The ConfigMap says %q. Visitors see %q.", "Sale!",
		s.cdn.Shows(mini.Request{Namespace: s.Namespace, Name: "shop"}))
	return nil
}
