package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	upstream "k8s.io/client-go/util/workqueue"

	"github.com/loopwright/loopwright/benchmarks/client/wire"
	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/workqueue"
)

func ourInformer(p program) (running, error) {
	switch p.form.name {
	case "metadata":
		return ourInformerOf[*metav1.PartialObjectMetadata](p)
	case "typed":
		return ourInformerOf[*wire.Widget](p)
	default:
		return ourInformerOf[*corev1.Pod](p)
	}
}

func ourInformerOf[T informer.Object](p program) (running, error) {
	factory := informer.NewFactory(p.config, informer.FactoryOptions{Scheme: wire.Scheme})
	i, err := informer.InformerFor[T](factory, informer.Collection{Resource: p.form.resource})
	if err != nil {
		return running{}, err
	}
	queue := workqueue.NewRateLimiting[types.NamespacedName](nil, workqueue.Options[types.NamespacedName]{})
	add := func(object T) { queue.Add(informer.KeyOf(object)) }
	_, err = i.AddHandler(informer.HandlerFuncs[T]{
		Add: func(object T, _ bool) { add(object) }, Delete: func(object T, _ bool) { add(object) },
		Update: func(old, object T) {
			if old.GetResourceVersion() != object.GetResourceVersion() {
				add(object)
			}
		},
	}, informer.HandlerOptions{})
	if err != nil {
		return running{}, err
	}
	work := func(ctx context.Context) error {
		if err := i.WaitForSync(ctx); err != nil {
			return err
		}
		defer context.AfterFunc(ctx, queue.ShutDown)()
		for {
			key, shutdown := queue.Get()
			if shutdown {
				return nil
			}
			i.Store().Get(key)
			p.seen(key.Name)
			queue.Forget(key)
			queue.Done(key)
		}
	}
	stopInformers, stopWorker := run(factory.Run), run(work)
	return running{
		read: func(namespace, name string) error {
			if _, found := i.Store().Get(informer.Key{Namespace: namespace, Name: name}); !found {
				return fmt.Errorf("%s/%s isn't in the store", namespace, name)
			}
			return nil
		},
		stop: func() error {
			if err := stopWorker(); err != nil {
				return err
			}
			return stopInformers()
		},
	}, nil
}

func theirInformer(p program) (running, error) {
	i, err := sharedInformer(p)
	if err != nil {
		return running{}, err
	}
	queue := upstream.NewTypedRateLimitingQueue(upstream.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	add := func(object any) {
		if key, err := cache.DeletionHandlingObjectToName(object); err == nil {
			queue.Add(key)
		}
	}
	_, err = i.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: add, DeleteFunc: add,
		UpdateFunc: func(old, object any) {
			if old.(metav1.Object).GetResourceVersion() != object.(metav1.Object).GetResourceVersion() {
				add(object)
			}
		},
	})
	if err != nil {
		return running{}, err
	}
	work := func(ctx context.Context) error {
		if !cache.WaitForCacheSync(ctx.Done(), i.HasSynced) {
			return ctx.Err()
		}
		defer context.AfterFunc(ctx, queue.ShutDown)()
		for {
			key, shutdown := queue.Get()
			if shutdown {
				return nil
			}
			if _, _, err := i.GetIndexer().GetByKey(key.String()); err != nil {
				return err
			}
			p.seen(key.Name)
			queue.Forget(key)
			queue.Done(key)
		}
	}
	stopInformer := run(func(ctx context.Context) error { i.RunWithContext(ctx); return nil })
	stopWorker := run(work)
	return running{
		read: func(namespace, name string) error {
			_, found, err := i.GetIndexer().GetByKey(namespace + "/" + name)
			if err == nil && !found {
				err = fmt.Errorf("%s/%s isn't in the indexer", namespace, name)
			}
			return err
		},
		stop: func() error {
			if err := stopWorker(); err != nil {
				return err
			}
			return stopInformer()
		},
	}, nil
}

// sharedInformer is the one that client-go has for a form; for typed custom resources it's what a generated clientset makes.
func sharedInformer(p program) (cache.SharedIndexInformer, error) {
	switch p.form.name {
	case "metadata":
		client, err := metadata.NewForConfig(p.config)
		if err != nil {
			return nil, err
		}
		return metadatainformer.NewSharedInformerFactory(client, 0).ForResource(p.form.resource).Informer(), nil
	case "typed":
		return sharedWidgets(p.config)
	default:
		client, err := kubernetes.NewForConfig(p.config)
		if err != nil {
			return nil, err
		}
		return informers.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer(), nil
	}
}

func sharedWidgets(config *rest.Config) (cache.SharedIndexInformer, error) {
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/apis", &wire.Widgets
	config.NegotiatedSerializer = serializer.NewCodecFactory(wire.Scheme).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	request := func(options metav1.ListOptions) *rest.Request {
		return client.Get().Resource(widgets.Resource).VersionedParams(&options, metav1.ParameterCodec)
	}
	return cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list := &wire.WidgetList{}
			return list, request(options).Do(ctx).Into(list)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			return request(options).Watch(ctx)
		},
	}, &wire.Widget{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}), nil
}
