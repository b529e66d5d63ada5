package mini

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/trace"
)

// Object is anything the API server stores: it has metadata, and the scheme knows its
// type.
type Object interface {
	metav1.Object
	runtime.Object
}

// Cluster is the connection to one API server. It may be used from any goroutine.
type Cluster struct {
	Scheme *runtime.Scheme
	Trace  *trace.Recorder // nil records nothing; set it before the first request

	config *rest.Config
	http   *http.Client
	codecs serializer.CodecFactory

	mu      sync.Mutex // guards clients
	clients map[schema.GroupVersion]*rest.RESTClient
}

// NewCluster connects to the API server that config names. It sends no request yet.
func NewCluster(config *rest.Config, scheme *runtime.Scheme) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server limits its clients; client-go's 5 requests a second is too few
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server: %w", err)
	}
	return &Cluster{
		Scheme: scheme, config: config, http: client, codecs: serializer.NewCodecFactory(scheme),
		clients: map[schema.GroupVersion]*rest.RESTClient{},
	}, nil
}

// KindOf returns the API group, version and kind that the scheme has for the type of obj.
func (c *Cluster) KindOf(obj runtime.Object) (schema.GroupVersionKind, error) {
	kinds, _, err := c.Scheme.ObjectKinds(obj)
	if err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("%T is not in the scheme: %w", obj, err)
	}
	return kinds[0], nil
}

// request begins a request for objects of one kind. The name of the resource is guessed
// from the kind (Endpoints -> endpoints, Policy -> policies); client-go asks the API
// server.
func (c *Cluster) request(
	verb string, kind schema.GroupVersionKind, namespace string,
) (*rest.Request, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	group := kind.GroupVersion()
	client := c.clients[group]
	if client == nil {
		config := rest.CopyConfig(c.config)
		config.GroupVersion, config.APIPath = &group, "/apis"
		if group.Group == "" {
			config.APIPath = "/api" // Pods, Services and the like: older than groups
		}
		config.NegotiatedSerializer = c.codecs.WithoutConversion()
		var err error
		if client, err = rest.RESTClientForConfigAndClient(config, c.http); err != nil {
			return nil, fmt.Errorf("connecting to %s: %w", group, err)
		}
		c.clients[group] = client
	}
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	return client.Verb(verb).NamespaceIfScoped(namespace, namespace != "").
		Resource(resource.Resource), nil
}

// ListWatch lists and watches the objects of one kind.
type ListWatch struct {
	Cluster   *Cluster
	Kind      schema.GroupVersionKind
	Namespace string // "" is all of them
}

// ListWatch returns the way to list and watch all objects with the type of obj. With a
// namespace, it sees only the objects in it.
func (c *Cluster) ListWatch(obj Object, namespace string) (*ListWatch, error) {
	kind, err := c.KindOf(obj)
	return &ListWatch{Cluster: c, Kind: kind, Namespace: namespace}, err
}

// List returns all objects, and the resourceVersion of the moment that the list shows.
func (lw *ListWatch) List(ctx context.Context) (items []Object, version string, err error) {
	began, next := time.Now(), ""
	for {
		req, err := lw.Cluster.request("GET", lw.Kind, lw.Namespace)
		if err != nil {
			return nil, "", err
		}
		req = req.Param("limit", "500")
		if next != "" {
			req = req.Param("continue", next)
		}
		list, err := req.Do(ctx).Get()
		if err != nil {
			return nil, "", fmt.Errorf("listing %s: %w", lw.Kind.Kind, err)
		}
		// Each object gets memory of its own. Pointers into the list would keep the whole
		// page alive for as long as one of its objects is.
		err = meta.EachListItemWithAlloc(list, func(item runtime.Object) error {
			items = append(items, item.(Object))
			return nil
		})
		if err != nil {
			return nil, "", fmt.Errorf("listing %s: %w", lw.Kind.Kind, err)
		}
		page, err := meta.ListAccessor(list)
		if err != nil {
			return nil, "", fmt.Errorf("listing %s: %w", lw.Kind.Kind, err)
		}
		if next = page.GetContinue(); next == "" {
			lw.Cluster.Trace.Record(trace.Event{
				Layer: "listwatch", Kind: trace.List, Object: lw.Kind.Kind,
				Count: len(items), Version: page.GetResourceVersion(), Took: time.Since(began),
			})
			return items, page.GetResourceVersion(), nil
		}
	}
}

// Watch opens a stream of everything that changes after version. Stop it when done.
func (lw *ListWatch) Watch(ctx context.Context, version string) (watch.Interface, error) {
	req, err := lw.Cluster.request("GET", lw.Kind, lw.Namespace)
	if err != nil {
		return nil, err
	}
	w, err := req.Param("watch", "true").
		Param("resourceVersion", version).
		Param("allowWatchBookmarks", "true").
		Watch(ctx)
	if err != nil {
		return nil, fmt.Errorf("watching %s: %w", lw.Kind.Kind, err)
	}
	lw.Cluster.Trace.Record(trace.Event{
		Layer: "listwatch", Kind: trace.WatchStart, Object: lw.Kind.Kind, Version: version,
	})
	return w, nil
}

// Follow hands each change to handle until the watch ends, and returns the version up
// to which the caller now knows everything: the next watch may start there. The error
// is nil if the server ended the watch in the normal way. IsExpired tells whether only
// a new list helps.
func Follow(
	w watch.Interface, version string, handle func(watch.EventType, Object),
) (last string, err error) {
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			return version, fmt.Errorf("the watch failed: %w", apierrors.FromObject(event.Object))
		}
		obj, ok := event.Object.(Object)
		if !ok {
			return version, fmt.Errorf("the watch sent %T, which has no metadata", event.Object)
		}
		version = obj.GetResourceVersion()
		handle(event.Type, obj) // a bookmark is an event, too: it has a version and nothing else
	}
	return version, nil
}

// IsExpired returns true if the server has forgotten what happened after the version
// that it was asked for (410 Gone), or if it has not come so far: it was restored from
// a backup.
func IsExpired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) ||
		apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}
