// Command 14-manager shows what a manager does: it starts parts in an order, says what is missing, lets
// one replica of two work, and stops without losing work.
//
// The parts that only report are in parts.go, the replicas in replica.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/trace"
)

func main() {
	log.SetLogger(logr.Discard()) // the demo tells what happens
	demo.Main("Chapter 14: the manager", story)
}

// stage is what the steps share.
type stage struct {
	*demo.Demo
	counts counts
}

func story(ctx context.Context, d *demo.Demo) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("the demo took longer than 2 minutes"))
	defer cancel()
	s := &stage{Demo: d}
	for _, step := range []struct {
		headline string
		play     func(context.Context) error
	}{
		{"1. Seven groups", s.inOrder},
		{"2. A right is missing", s.rightIsMissing},
		{"3. Two replicas", s.twoReplicas},
	} {
		if err := d.Step(step.headline, func() error { return step.play(ctx) }); err != nil {
			return err
		}
	}
	d.Table("What became of the work", s.counts.rows()...)
	return nil
}

// options are those of all managers here: nothing listens, and the cache has the demo's namespace.
func (s *stage) options() ctrl.Options {
	return ctrl.Options{
		Metrics:    server.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{s.Namespace: {}}, DefaultWatchErrorHandler: func(error) {}},
		Controller: config.Controller{SkipNameValidation: new(true)},
	}
}

// run starts a manager. The function that it returns stops it, and returns Start's error.
func run(ctx context.Context, m ctrl.Manager) (end func() error) {
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1) // one, because nobody may receive it
	go func() { ended <- m.Start(ctx) }()
	return func() error { stop(); return <-ended }
}

// inOrder adds parts in any order, and looks in which order their groups start and end.
func (s *stage) inOrder(ctx context.Context) error {
	before := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "before-the-start", Namespace: s.Namespace}}
	if _, err := s.Client.CoreV1().ConfigMaps(s.Namespace).Create(ctx, before, metav1.CreateOptions{}); err != nil {
		return err
	}
	options := s.options()
	options.Recorder = trace.New(0)
	m, err := ctrl.NewManager(s.Config(), options)
	if err != nil {
		return err
	}
	found := make(chan error, 1) // one, because the controller says it once
	err = errors.Join(
		ctrl.NewControllerManagedBy(m).For(before).Complete(looker{m.GetClient(), client.ObjectKeyFromObject(before), found}),
		m.Add(independentPart{}),
		m.Add(&manager.Server{Name: "demo", Server: &http.Server{Addr: "127.0.0.1:0", ReadHeaderTimeout: time.Second}}),
	)
	if err != nil {
		return err
	}
	s.Say("Added: a controller, a part that needs no lead, an HTTP server.")
	end := run(ctx, m)
	select {
	case err := <-found:
		if err != nil {
			return errors.Join(fmt.Errorf("the controller looked into the cache: %w", err), end())
		}
		s.Say("The controller has started, and found in the cache what was there before.")
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), end())
	}
	select {
	case <-m.Elected():
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), end())
	}
	err = end()
	s.Say("What the flight recorder says of the groups, without the warm-up:")
	for _, line := range groupsIn(options.Recorder.Events()) {
		s.Say("  %s", line)
	}
	s.Say("GET /debug/reconciles?name=%s would have shown:", before.Name)
	for _, line := range reconcilesOf(options.Recorder, client.ObjectKeyFromObject(before)) {
		s.Say("  %s", line)
	}
	return err
}

// rightIsMissing starts a manager for somebody who may read nothing.
func (s *stage) rightIsMissing(ctx context.Context) error {
	visitor := rest.CopyConfig(s.Config())
	visitor.Impersonate = rest.ImpersonationConfig{UserName: "visitor"}
	options := s.options()
	options.MapperProvider = mapperOf(s.Config())
	options.Strict, options.Controller.CacheSyncTimeout = true, 2*time.Second
	m, err := ctrl.NewManager(visitor, options)
	if err != nil {
		return err
	}
	if _, err := m.GetCache().GetInformer(ctx, &corev1.ConfigMap{}, cache.BlockUntilSynced(false)); err != nil {
		return err
	}
	s.Say("A visitor starts the same manager, and may not read ConfigMaps. Start waits 2 s, and returns:")
	err = m.Start(ctx)
	if err == nil {
		return errors.New("the manager has started without the right")
	}
	_, rule, _ := strings.Cut(err.Error(), "rule ")
	rule, _, _ = strings.Cut(rule, "}")
	s.Say("  ... a Role with the rule %s}", rule)
	return nil
}

// twoReplicas stops the leader while it works.
func (s *stage) twoReplicas(ctx context.Context) error {
	first, err := s.newReplica("first")
	if err != nil {
		return err
	}
	second, err := s.newReplica("second")
	if err != nil {
		return err
	}
	endFirst := run(ctx, first)
	if err := first.leads(ctx); err != nil {
		return errors.Join(err, endFirst())
	}
	s.Say("The first replica leads. The second one starts, and waits.")
	endSecond := run(ctx, second)
	for number := range tasks {
		task := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("task-%02d", number), Labels: taskLabel}}
		if _, err := s.Client.CoreV1().ConfigMaps(s.Namespace).Create(ctx, task, metav1.CreateOptions{}); err != nil {
			return errors.Join(err, endFirst(), endSecond())
		}
	}
	s.Say("A user creates %d tasks. While it does the third, the first replica is told to stop.", tasks)
	err = first.isAt(ctx, stopsAt)
	err = errors.Join(err, endFirst())
	s.Say("It has finished the task that it was at, and released the lease. Then its Start returned.")
	if err == nil {
		err = second.leads(ctx)
	}
	s.Say("The second replica leads, and does the rest. Its cache was warm: it had listed before.")
	if err == nil {
		err = s.allDone(ctx)
	}
	err = errors.Join(err, endSecond())
	s.counts = counts{first: first.done(), second: second.done()}
	if both := slices.Sorted(slices.Values(slices.Concat(first.done(), second.done()))); len(slices.Compact(both)) != tasks {
		err = errors.Join(err, fmt.Errorf("not each of the %d tasks was done: %v", tasks, both))
	}
	return err
}
