package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// stage has what the steps share: a scheme that knows Stalls, a client that shows its requests, and
// users, whose requests are not shown.
type stage struct {
	*demo.Demo
	traffic *traffic
	scheme  *runtime.Scheme
	kind    schema.GroupVersionKind // of Stalls, in a group of this demo's own, so that two demos do not meet
	users   client.Client
	rows    [][]string

	stop    context.CancelFunc // ends the caches of a step
	running sync.WaitGroup     // of the caches
}

func newStage(d *demo.Demo) (s *stage, err error) {
	s = &stage{
		Demo: d, traffic: &traffic{recorder: d.Recorder}, scheme: runtime.NewScheme(), stop: func() {},
		kind: schema.GroupVersionKind{Group: d.Namespace + ".loopwright.dev", Version: "v1", Kind: "Stall"},
		rows: [][]string{{"", "reads", "requests"}},
	}
	if err := scheme.AddToScheme(s.scheme); err != nil {
		return nil, err
	}
	addStalls(s.scheme, s.kind.GroupVersion())
	s.users, err = client.New(d.Config(), client.Options{Scheme: s.scheme})
	return s, err
}

// config reaches the cluster through the traffic counter.
func (s *stage) config() *rest.Config {
	config := s.Config()
	config.Wrap(s.traffic.wrap)
	return config
}

// open returns a cache that runs until closeCaches, and a client that reads from it. The cache has the
// demo's namespace, unless the options say otherwise.
func (s *stage) open(ctx context.Context, config *rest.Config, options cache.Options, reading client.CacheOptions) (cache.Cache, client.Client, error) {
	options.Scheme = s.scheme
	if options.DefaultNamespaces == nil {
		options.DefaultNamespaces = map[string]cache.Config{s.Namespace: {}}
	}
	objects, err := cache.New(config, options)
	if err != nil {
		return nil, nil, err
	}
	reading.Reader = objects
	c, err := client.New(config, client.Options{Scheme: s.scheme, Cache: &reading})
	if err != nil {
		return nil, nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	stopOthers := s.stop
	s.stop = func() { stop(); stopOthers() }
	s.running.Go(func() { _ = objects.Start(ctx) })
	return objects, c, nil
}

// closeCaches waits for the end of all caches.
func (s *stage) closeCaches() {
	s.stop()
	s.running.Wait()
	s.stop = func() {}
	s.traffic.since()
}

// end waits for all that was started, and removes what is not in the demo's namespace.
func (s *stage) end() error {
	s.closeCaches()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var errs []error
	for _, object := range []client.Object{s.crd(), s.readAnywhere(), s.visitorReadsAnywhere()} {
		if err := client.IgnoreNotFound(s.users.Delete(ctx, object)); err != nil {
			errs = append(errs, fmt.Errorf("removing %s: %w", object.GetName(), err))
		}
	}
	return errors.Join(errs...)
}

func (s *stage) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: s.Namespace, Name: name}
}

func (s *stage) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.Namespace, Name: name}
}

// owned is for objects outside of the demo's namespace: should the demo be killed, they go with the
// namespace, which the next demo removes.
func (s *stage) owned(ctx context.Context, object client.Object) (client.Object, error) {
	namespace := &corev1.Namespace{}
	if err := s.users.Get(ctx, types.NamespacedName{Name: s.Namespace}, namespace); err != nil {
		return nil, err
	}
	object.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: namespace.Name, UID: namespace.UID}})
	return object, nil
}

// until repeats something until it succeeds, or ctx ends.
func (s *stage) until(ctx context.Context, what string, try func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w: %w", what, context.Cause(ctx), last)
	}
	return nil
}

// crd is the definition of Stalls. They have a color, of which the Go type knows nothing.
func (s *stage) crd() *unstructured.Unstructured {
	integer, text := map[string]any{"type": "integer"}, map[string]any{"type": "string"}
	object := func(properties map[string]any) map[string]any {
		return map[string]any{"type": "object", "properties": properties}
	}
	crd := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": s.kind.Group, "scope": "Namespaced",
		"names": map[string]any{"kind": s.kind.Kind, "plural": "stalls", "singular": "stall", "listKind": "StallList"},
		"versions": []any{map[string]any{
			"name": s.kind.Version, "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
			"schema": map[string]any{"openAPIV3Schema": object(map[string]any{
				"spec":   object(map[string]any{"price": integer, "color": text}),
				"status": object(map[string]any{"sold": integer}),
			})},
		}},
	}}}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName("stalls." + s.kind.Group)
	return crd
}

// install makes the kind Stall, and waits until it is served.
func (s *stage) install(ctx context.Context) error {
	crd, err := s.owned(ctx, s.crd())
	if err != nil {
		return fmt.Errorf("installing the kind Stall: %w", err)
	}
	if err := s.users.Create(ctx, crd); err != nil {
		return fmt.Errorf("installing the kind Stall: %w", err)
	}
	return s.until(ctx, "the kind Stall", func(ctx context.Context) error {
		return s.users.List(ctx, &StallList{}, client.InNamespace(s.Namespace))
	})
}

// openStall makes a Stall with a color, as its users can: they have newer types.
func (s *stage) openStall(ctx context.Context, name string) error {
	stall := s.unstructuredStall(name)
	stall.Object["spec"] = map[string]any{"price": int64(1), "color": "blue"}
	return s.until(ctx, "the Stall "+name, func(ctx context.Context) error { return s.users.Create(ctx, stall) })
}

func (s *stage) unstructuredStall(name string) *unstructured.Unstructured {
	stall := &unstructured.Unstructured{}
	stall.SetGroupVersionKind(s.kind)
	stall.SetNamespace(s.Namespace)
	stall.SetName(name)
	return stall
}
