package main

import (
	"cmp"
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/trace"
)

// informers hand out one informer for each of three kinds. Chapter 12 has a cache that does it for
// all kinds.
type informers struct {
	ctx       context.Context // of the informers, which run longer than a call of GetInformer
	config    *rest.Config
	namespace string
	recorder  *trace.Recorder
	// discountKind has a group of this demo's own, so that two demos on one cluster do not meet.
	discountKind schema.GroupVersionKind

	running sync.WaitGroup

	configMaps *informer.Informer[*corev1.ConfigMap]
	pods       *informer.Informer[*corev1.Pod]

	mu       sync.Mutex                                     // guards what follows
	discount *informer.Informer[*unstructured.Unstructured] // nil until the kind is installed
}

func newInformers(ctx context.Context, config *rest.Config, namespace string, recorder *trace.Recorder) (i *informers, err error) {
	i = &informers{ctx: ctx, config: config, namespace: namespace, recorder: recorder,
		discountKind: schema.GroupVersionKind{Group: namespace + ".loopwright.dev", Version: "v1", Kind: "Discount"}}
	if i.configMaps, err = run[*corev1.ConfigMap](i, corev1.SchemeGroupVersion.WithResource("configmaps")); err == nil {
		i.pods, err = run[*corev1.Pod](i, corev1.SchemeGroupVersion.WithResource("pods"))
	}
	return i, err
}

func run[T informer.Object](i *informers, resource schema.GroupVersionResource) (*informer.Informer[T], error) {
	from, err := informer.NewListWatch[T](i.config, resource, informer.ListWatchOptions{Namespace: i.namespace, Recorder: i.recorder})
	if err != nil {
		return nil, err
	}
	made := informer.NewInformer[T](from, informer.InformerOptions[T]{Recorder: i.recorder})
	i.running.Go(func() { _ = made.Run(i.ctx) }) // without GiveUp, it ends with ctx and without an error
	return made, nil
}

// GetInformer is what a source asks for.
func (i *informers) GetInformer(ctx context.Context, object client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	switch object.(type) {
	case *corev1.ConfigMap:
		return cache.InformerOf(i.configMaps, "configmaps", 0), nil
	case *corev1.Pod:
		return cache.InformerOf(i.pods, "pods", 0), nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.discount == nil {
		if err := i.installed(); err != nil {
			return nil, err
		}
		made, err := run[*unstructured.Unstructured](i, i.discountKind.GroupVersion().WithResource("discounts"))
		if err != nil {
			return nil, err
		}
		i.discount = made
	}
	return cache.InformerOf(i.discount, "discounts", 0), nil
}

// installed asks the server for the kind of discounts.
func (i *informers) installed() error {
	client, err := discovery.NewDiscoveryClientForConfig(i.config)
	if err != nil {
		return err
	}
	kind := i.discountKind
	_, err = client.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
	}
	return err
}

func (i *informers) newDiscount() *unstructured.Unstructured {
	discount := &unstructured.Unstructured{}
	discount.SetGroupVersionKind(i.discountKind)
	return discount
}

// discounts are there when the controller's workers begin.
func (i *informers) discounts() *informer.Informer[*unstructured.Unstructured] {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.discount
}

// stalls are sorted, so that every run of the demo prints the same.
func (i *informers) stalls() (stalls []*corev1.ConfigMap) {
	for object := range i.configMaps.Store().All() {
		if isStall(object) {
			stalls = append(stalls, object)
		}
	}
	slices.SortFunc(stalls, func(a, b *corev1.ConfigMap) int { return cmp.Compare(a.Name, b.Name) })
	return stalls
}
