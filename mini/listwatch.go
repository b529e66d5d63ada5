package mini

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
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

// Object is anything that the API server stores: it has metadata, and the scheme knows
// its Go type.
type Object interface {
	metav1.Object
	runtime.Object
}

// Cluster is the connection to one API server. It may be used from several goroutines.
type Cluster struct {
	Scheme *runtime.Scheme
	Trace  *trace.Recorder // set before the first request; nil records nothing
	// Plurals has the names of resources that request would guess wrong. Set it before
	// the first request.
	Plurals map[schema.GroupKind]string

	config *rest.Config
	http   *http.Client // all requests share its connections
}

// NewCluster returns a connection to the API server that config names. It doesn't send a
// request yet.
func NewCluster(config *rest.Config, scheme *runtime.Scheme) (*Cluster, error) {
	config = rest.CopyConfig(config)
	client, err := rest.HTTPClientFor(config)
	if err == nil {
		_, _, err = rest.DefaultServerUrlFor(config)
	}
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server: %w", err)
	}
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return &Cluster{Scheme: scheme, config: config, http: client}, nil
}

// KindOf returns the API group, version and kind of an object, which the scheme finds by
// the object's Go type.
func (c *Cluster) KindOf(obj runtime.Object) (schema.GroupVersionKind, error) {
	kinds, _, err := c.Scheme.ObjectKinds(obj)
	if err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("the kind of %T: %w", obj, err)
	}
	return kinds[0], nil
}

// request begins a request for objects of one kind, in one namespace, or in all if
// namespace is "". It guesses the name of the resource from the kind: Endpoints ->
// endpoints, Policy -> policies, but also Gateway -> gatewaies. That request gets a 404,
// so put gateways into Plurals. controller-runtime asks the API server for the name
// instead.
func (c *Cluster) request(
	verb string, kind schema.GroupVersionKind, namespace string,
) *rest.Request {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	if plural, ok := c.Plurals[kind.GroupKind()]; ok {
		resource.Resource = plural
	}
	return c.requestFor(verb, resource, namespace)
}

// requestFor begins a request for objects of a resource whose name is known.
func (c *Cluster) requestFor(
	verb string, resource schema.GroupVersionResource, namespace string,
) *rest.Request {
	config, group := rest.CopyConfig(c.config), resource.GroupVersion()
	config.GroupVersion, config.APIPath = &group, "/apis"
	if group.Group == "" {
		config.APIPath = "/api" // Pods and Services are older than API groups
	}
	// A new client for each request, so client-go's limit of 5 requests a second never
	// applies: the API server protects itself. NewCluster has checked the config.
	client, _ := rest.RESTClientForConfigAndClient(config, c.http)
	return client.Verb(verb).NamespaceIfScoped(namespace, namespace != "").
		Resource(resource.Resource)
}

// ListWatch lists and watches the objects of one kind.
type ListWatch struct {
	Cluster   *Cluster
	Kind      schema.GroupVersionKind
	Namespace string // "" is all namespaces
}

// ListWatch returns a ListWatch for the objects of obj's type, in one namespace, or in
// all if namespace is "".
func (c *Cluster) ListWatch(obj Object, namespace string) (*ListWatch, error) {
	kind, err := c.KindOf(obj)
	if err != nil {
		return nil, err
	}
	return &ListWatch{Cluster: c, Kind: kind, Namespace: namespace}, nil
}

// String names the source in logs: "apps/v1, Kind=Deployment".
func (lw *ListWatch) String() string { return lw.Kind.String() }

// List returns all objects, and the resourceVersion at which they looked like this. It
// reads page by page, but all pages show the same moment.
func (lw *ListWatch) List(
	ctx context.Context,
) (items []Object, version string, err error) {
	began, next := time.Now(), ""
	for {
		page, info, err := lw.page(ctx, next)
		if err != nil {
			return nil, "", fmt.Errorf("listing %s: %w", lw.Kind.Kind, err)
		}
		items = append(items, page...)
		next, version = info.GetContinue(), info.GetResourceVersion()
		if next == "" {
			break
		}
	}
	lw.Cluster.Trace.Record(trace.Event{
		Layer: "listwatch", Kind: trace.List, Object: lw.Kind.Kind,
		Count: len(items), Version: version, Took: time.Since(began),
	})
	return items, version, nil
}

// page requests one page. next is the token from the previous page.
func (lw *ListWatch) page(
	ctx context.Context, next string,
) (items []Object, info metav1.ListInterface, err error) {
	req := lw.Cluster.request("GET", lw.Kind, lw.Namespace)
	list, err := req.Param("limit", "500").Param("continue", next).Do(ctx).Get()
	if err != nil {
		return nil, nil, err
	}
	if info, err = meta.ListAccessor(list); err != nil {
		return nil, nil, err
	}
	// Allocate each object on its own: a pointer into the page would keep all 500 objects
	// in memory as long as one of them is in use.
	err = meta.EachListItemWithAlloc(list, func(item runtime.Object) error {
		items = append(items, item.(Object))
		return nil
	})
	return items, info, err
}

// maxWatch is how long a watch may last.
const maxWatch = 10 * time.Minute

// Watch opens a stream of all changes after version, which comes from a list or an
// earlier watch. The stream ends when ctx does. The caller must stop it.
//
// It asks the server to end the stream after a random time between half of maxWatch and
// maxWatch, so that watches don't all end together.
func (lw *ListWatch) Watch(ctx context.Context, version string) (watch.Interface, error) {
	limit := maxWatch/2 + rand.N(maxWatch/2)
	w, err := lw.Cluster.request("GET", lw.Kind, lw.Namespace).
		Param("watch", "true").
		Param("timeoutSeconds", fmt.Sprint(int(limit.Seconds()))).
		Param("resourceVersion", version).
		Param("allowWatchBookmarks", "true").
		Watch(ctx)
	if err != nil {
		return nil, fmt.Errorf("watching %s: %w", lw.Kind.Kind, err)
	}
	lw.Cluster.Trace.Record(trace.Event{
		Layer: "listwatch", Kind: trace.WatchStart,
		Object: lw.Kind.Kind, Version: version,
	})
	return w, nil
}

// Follow passes each event of a watch to handle until the watch ends. It returns the
// version up to which the caller has seen every change, even along with an error. The
// next watch can start there.
//
// handle also gets bookmarks. A bookmark's object has a version and nothing else.
//
// Errors: nil if the stream just ended, as every watch does sooner or later. If the
// server ends it with an ERROR event, the event becomes the error; if IsExpired(err) is
// true, the caller must list again. After a Stop, ignore the error.
func Follow(
	w watch.Interface, version string, handle func(watch.EventType, Object),
) (last string, err error) {
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			err := apierrors.FromObject(event.Object) // a Status: it has no version
			return version, fmt.Errorf("the watch failed: %w", err)
		}
		obj, ok := event.Object.(Object)
		if !ok {
			return version, fmt.Errorf("the watch sent a %T: no metadata", event.Object)
		}
		handle(event.Type, obj)
		version = obj.GetResourceVersion()
	}
	return version, nil
}

// IsExpired returns true if the API server no longer knows what happened after the
// version that a client wants to start from (410 Gone). Then only a new list helps.
func IsExpired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}
