// Package listening uses a cache without a controller.
package listening

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Open makes a cache with most of its options.
func Open(config *rest.Config, httpClient *http.Client, scheme *runtime.Scheme) (cache.Cache, error) {
	return cache.New(config, cache.Options{
		HTTPClient: httpClient, Scheme: scheme,
		SyncPeriod:                  new(10 * time.Hour),
		ReaderFailOnMissingInformer: true,
		DefaultNamespaces: map[string]cache.Config{
			"shop":              {LabelSelector: labels.SelectorFromSet(labels.Set{"app": "shop"})},
			cache.AllNamespaces: {},
		},
		DefaultTransform:            cache.TransformStripManagedFields(),
		DefaultEnableWatchBookmarks: new(true),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {
				Field:     fields.OneTermEqualSelector("spec.nodeName", "node-1"),
				Transform: func(in any) (any, error) { return in, nil },
			},
			&corev1.Secret{}: {Namespaces: map[string]cache.Config{"shop": {}}, UnsafeDisableDeepCopy: new(true)},
		},
	})
}

// Count counts pods until the context ends.
func Count(ctx context.Context, informers cache.Cache) (*atomic.Int64, error) {
	informer, err := informers.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	count := &atomic.Int64{}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { count.Add(1) },
		UpdateFunc: func(oldObj, newObj any) {},
		DeleteFunc: func(obj any) {
			if tombstone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			if _, ok := obj.(*corev1.Pod); ok {
				count.Add(-1)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = informer.RemoveEventHandler(registration) })
	if _, err := informer.AddEventHandlerWithResyncPeriod(toolscache.FilteringResourceEventHandler{
		FilterFunc: func(obj any) bool { return obj.(client.Object).GetNamespace() == "shop" },
		Handler: toolscache.ResourceEventHandlerDetailedFuncs{AddFunc: func(obj any, isInInitialList bool) {
			fmt.Println(obj.(client.Object).GetName(), isInInitialList)
		}},
	}, time.Hour); err != nil {
		return nil, err
	}
	if err := informer.AddIndexers(toolscache.Indexers{"node": func(obj any) ([]string, error) {
		return []string{obj.(*corev1.Pod).Spec.NodeName}, nil
	}}); err != nil {
		return nil, err
	}
	go func() { _ = informers.Start(ctx) }()
	if !informers.WaitForCacheSync(ctx) || !registration.HasSynced() || informer.IsStopped() {
		return nil, errors.New("the cache did not sync")
	}
	return count, nil
}

// Watch uses an informer as a source.
func Watch(ctx context.Context, made controller.Controller, informers cache.Informers) error {
	informer, err := informers.GetInformerForKind(ctx, corev1.SchemeGroupVersion.WithKind("Pod"))
	if err != nil {
		return err
	}
	return made.Watch(&source.Informer{Informer: informer, Handler: &handler.EnqueueRequestForObject{}})
}

// NotCached says what an error means.
func NotCached(err error) bool {
	var notCached *cache.ErrResourceNotCached
	var notStarted *cache.ErrCacheNotStarted
	return errors.As(err, &notCached) || errors.As(err, &notStarted)
}

// MakeCache is a function that programs replace in tests.
var MakeCache cache.NewCacheFunc = cache.New
