// Command 03-reflector shows a reflector that goes on, whatever happens to the
// API server.
package main

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/demo"
)

func main() { demo.Main("Chapter 3: the reflector", story) }

const (
	// selector picks the ConfigMaps of the story.
	selector = "story=fruit"
	// downtime is how long the API server stays away.
	downtime = 3 * time.Second
)

func story(ctx context.Context, d *demo.Demo) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 4*time.Minute, errors.New("the demo took longer than 4 minutes"))
	defer cancel()
	write, fruit := &writer{d}, newView()
	reflector, err := newReflector(d, d.Config(), fruit)
	if err != nil {
		return err
	}
	var running running
	defer func() { _ = running.stop() }()
	for _, step := range []struct {
		headline string
		play     func() error
	}{
		{"1. All there is, and then what changes", func() error {
			if err := write.fruit(ctx, "apple", "banana", "cherry"); err != nil {
				return err
			}
			running = start(ctx, reflector)
			return follow(ctx, d, write, fruit)
		}},
		{"2. The API server goes away, and comes back", func() error { return survive(ctx, d, write, fruit, reflector) }},
		{"3. Stopped, and run again", func() error {
			if err := running.stop(); err != nil {
				return err
			}
			again, err := runAgain(ctx, d, write, fruit, reflector)
			running = again
			return err
		}},
		{"4. Not allowed", func() error { return refused(ctx, d) }},
	} {
		if err := d.Step(step.headline, step.play); err != nil {
			return err
		}
	}
	if err := running.stop(); err != nil {
		return err
	}
	d.Table("What the sink received", []string{"sink", "Replace", "Apply", "Progress", "went back"}, fruit.row("ConfigMap"))
	return fruit.account()
}

func newReflector(d *demo.Demo, config *rest.Config, into *view) (*informer.Reflector[*corev1.ConfigMap], error) {
	configMaps, err := informer.NewListWatch[*corev1.ConfigMap](config, corev1.SchemeGroupVersion.WithResource("configmaps"),
		informer.ListWatchOptions{Namespace: d.Namespace, LabelSelector: selector, Recorder: d.Recorder})
	if err != nil {
		return nil, err
	}
	return informer.NewReflector(configMaps, informer.Sink[*corev1.ConfigMap](into), informer.ReflectorOptions{Recorder: d.Recorder}), nil
}

// running is a reflector in a goroutine of its own.
type running struct {
	cancel context.CancelFunc
	ended  chan error // Run's result; has room for it, so that Run's goroutine ends even if nobody waits
}

func start(ctx context.Context, reflector *informer.Reflector[*corev1.ConfigMap]) running {
	ctx, cancel := context.WithCancel(ctx)
	r := running{cancel, make(chan error, 1)}
	go func() { r.ended <- reflector.Run(ctx); close(r.ended) }()
	return r
}

// stop may be called again, and on one that was never started.
func (r running) stop() error {
	if r.cancel == nil {
		return nil
	}
	r.cancel()
	return <-r.ended
}

// follow waits for the first view, and then for one change after the other.
func follow(ctx context.Context, d *demo.Demo, write *writer, fruit *view) error {
	if err := fruit.until(ctx, "apple", "banana", "cherry"); err != nil {
		return err
	}
	if err := errors.Join(write.create(ctx, "date", fruitLabels), fruit.until(ctx, "apple", "banana", "cherry", "date")); err != nil {
		return err
	}
	if err := errors.Join(write.delete(ctx, "cherry"), fruit.until(ctx, "apple", "banana", "date")); err != nil {
		return err
	}
	d.Say("The view: %v. Nobody has to tell the reflector to read.", fruit.names())
	return nil
}

// survive kills the API server, and writes when it and the reflector are back.
func survive(ctx context.Context, d *demo.Demo, write *writer, fruit *view, reflector *informer.Reflector[*corev1.ConfigMap]) error {
	if d.Cluster.Mode == cluster.Current {
		d.Say("This is your own cluster: its API server is left alone. There are only the writes.")
	} else if err := kill(ctx, d, write, fruit, reflector); err != nil {
		return err
	}
	if err := errors.Join(write.update(ctx, "apple"), write.delete(ctx, "banana"), write.create(ctx, "elderberry", fruitLabels)); err != nil {
		return err
	}
	if err := fruit.until(ctx, "apple", "date", "elderberry"); err != nil {
		return err
	}
	d.Say("The view: %v.", fruit.names())
	return nil
}

// kill restarts the API server and looks at the reflector meanwhile. It returns
// when the view has gone on.
func kill(ctx context.Context, d *demo.Demo, write *writer, fruit *view, reflector *informer.Reflector[*corev1.ConfigMap]) error {
	// A write that the reflector does not see moves the history on. So the server,
	// which forgets everything, will not know the reflector's place.
	place := reflector.Health().ResourceVersion
	if err := write.create(ctx, "onion", nil); err != nil {
		return err
	}
	d.Say("The API server is killed, and stays away for %s.", downtime)
	restarted := make(chan error, 1) // the result of Restart
	go func() { restarted <- d.Cluster.Restart(ctx, cluster.APIServer, downtime) }()
	select {
	case <-time.After(downtime * 2 / 3):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	health := reflector.Health()
	d.Say("The view is still there: %v. It is as it was at resourceVersion %s.", fruit.names(), health.ResourceVersion)
	d.Say("Is it ready? With a minute's patience: %v. With none: %v.",
		health.Ready(time.Now(), time.Minute) == nil, health.Ready(time.Now(), 0) == nil)
	if err := <-restarted; err != nil {
		return err
	}
	// A write now would race with the reflector's pause, and might become part of
	// its new view. So we wait for that view. To wait for an open watch would not be
	// enough: the server accepts it before it looks for its place in the history and
	// says 410.
	return fruit.moved(ctx, place)
}

// runAgain stops the reflector, lets things happen, and runs it again.
func runAgain(ctx context.Context, d *demo.Demo, write *writer, fruit *view, reflector *informer.Reflector[*corev1.ConfigMap]) (running, error) {
	d.Say("The reflector is stopped, at resourceVersion %s.", reflector.Health().ResourceVersion)
	if err := errors.Join(write.delete(ctx, "date"), write.create(ctx, "fig", fruitLabels)); err != nil {
		return start(ctx, reflector), err
	}
	d.Say("The view is as it was: %v. Now it runs again.", fruit.names())
	again := start(ctx, reflector)
	if err := fruit.until(ctx, "apple", "elderberry", "fig"); err != nil {
		return again, err
	}
	d.Say("The view: %v. It asked for a view no older than the one it had.", fruit.names())
	return again, nil
}

// refused runs a second reflector, as a user who has no rights.
func refused(ctx context.Context, d *demo.Demo) error {
	config := d.Config()
	config.Impersonate.UserName = "a-user-without-rights"
	poor, err := newReflector(d, config, newView())
	if err != nil {
		return err
	}
	trial := start(ctx, poor)
	defer func() { _ = trial.stop() }()
	var why *informer.RefusedError
	for ctx.Err() == nil && !errors.As(poor.Health().LastError, &why) {
		time.Sleep(20 * time.Millisecond)
	}
	if err := trial.stop(); err != nil {
		return err
	}
	d.Say("The reason: %s. The verb: %s. The rule that is missing:", why.Reason, why.Verb)
	d.Say("%s", why.Rule())
	if err := poor.Health().Ready(time.Now(), time.Minute); err == nil {
		return errors.New("a reflector that may not read claims to be ready")
	}
	d.Say("By default it keeps trying: the right may be granted.")
	return nil
}
