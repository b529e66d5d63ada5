// Package outage is what both programs of the chapter go through: their API server goes away, and
// comes back without a memory. The server is in memory, because a real one does not do this on
// demand.
package outage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

// Keep keeps the store in step with the API server until ctx ends.
type Keep func(ctx context.Context, fruit *mini.ListWatch, store *mini.Store) error

// Story runs a program that keeps fruit.
func Story(keep Keep) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		user, err := kubernetes.NewForConfig(server.Config())
		if err != nil {
			return err
		}
		config := server.Config()
		config.UserAgent = program.UserAgent
		cluster, err := mini.NewCluster(config, scheme.Scheme)
		if err != nil {
			return err
		}
		cluster.Trace = d.Hidden()
		fruit, err := cluster.ListWatch(&corev1.ConfigMap{}, "default")
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancel(ctx)
		o := &outage{Demo: d, server: server, user: user, store: mini.NewStore(nil)}
		var running sync.WaitGroup
		err = o.play(ctx, func() { running.Go(func() { o.failed = keep(ctx, fruit, o.store) }) })
		stop()
		running.Wait()
		return errors.Join(err, o.failed)
	}
}

// program matches the requests of the program, and not those of the user.
var program = fakeapi.Match{UserAgent: "program"}

type outage struct {
	*demo.Demo
	server *fakeapi.Server
	user   kubernetes.Interface
	store  *mini.Store
	failed error // of the program
}

func (o *outage) play(ctx context.Context, start func()) error {
	if err := o.create(ctx, "apple", "banana"); err != nil {
		return err
	}
	// Each request takes 10 ms. A watch is cut after an event.
	o.server.Inject(fakeapi.Fault{Match: program, Delay: 10 * time.Millisecond})
	o.server.Inject(fakeapi.Fault{
		Match:          fakeapi.Match{UserAgent: program.UserAgent, Verb: "watch"},
		CutAfterEvents: 1, CutAbruptly: true,
	})
	_ = o.Step("1. The program starts", func() error {
		start()
		demo.Sleep(ctx, 500*time.Millisecond)
		o.report()
		return nil
	})
	var back func()
	if err := o.Step("2. The API server is away for 3 s. A user deletes the banana", func() error {
		back = o.server.Inject(fakeapi.Fault{Match: program, Status: fakeapi.Unavailable()})
		if err := o.cut(ctx); err != nil {
			return err
		}
		demo.Sleep(ctx, 3*time.Second)
		o.report()
		return o.user.CoreV1().ConfigMaps("default").Delete(ctx, "banana", metav1.DeleteOptions{})
	}); err != nil {
		return err
	}
	return o.Step("3. The API server is back, and has forgotten the past", func() error {
		o.server.ForgetRequests() // those of the time in which a reader thought about the answer
		o.server.CompactAll()
		back()
		demo.Sleep(ctx, 3*time.Second)
		o.report()
		return nil
	})
}

// report says what the program has asked for since the last report, and what it believes in.
func (o *outage) report() {
	requests := o.server.Requests(program)
	o.server.ForgetRequests()
	verbs := ""
	if len(requests) < 10 {
		for _, r := range requests {
			verbs += " " + r.Verb
		}
		verbs = ":" + verbs
	}
	o.Say("The program has sent %d requests%s.", len(requests), verbs)
	var names []string
	for _, obj := range o.store.List() {
		names = append(names, obj.GetName())
	}
	o.Say("It believes in %v.", names)
}

// cut changes the apple, so that the watch is cut.
func (o *outage) cut(ctx context.Context) error {
	patch := []byte(`{"metadata":{"annotations":{"color":"red"}}}`)
	_, err := o.user.CoreV1().ConfigMaps("default").Patch(
		ctx, "apple", types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

func (o *outage) create(ctx context.Context, names ...string) error {
	for _, name := range names {
		fruit := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		configMaps := o.user.CoreV1().ConfigMaps("default")
		if _, err := configMaps.Create(ctx, fruit, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating fruit: %w", err)
		}
	}
	return nil
}
