package informer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/trace"
)

// Object is a pointer to a typed API object, such as *corev1.Pod.
type Object interface {
	metav1.Object
	runtime.Object
}

// ListerWatcher reads one collection of objects. It's the seam between the network and everything
// that is built on it.
//
// Which objects belong to the collection (kind, namespace, selectors) is fixed from the start. The
// options of a call say how to read: paging (Limit, Continue), from where (ResourceVersion,
// ResourceVersionMatch), for how long (TimeoutSeconds), and whether you want bookmarks
// (AllowWatchBookmarks).
//
// The library's implementations are ListWatch and, under a manager, cache.removableKind.
type ListerWatcher[T Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (*List[T], error)
	Watch(ctx context.Context, options metav1.ListOptions) (Watch[T], error)
}

// List is a collection, or a page of it, at one moment of its history.
type List[T Object] struct {
	Items []T
	// ResourceVersion is that moment. It belongs to the list as a whole: a watch from it reports
	// everything that happens later, and nothing that the list already shows. Don't use the newest
	// item's resourceVersion. It may be older: deletions, and changes in other collections, move
	// the list's on.
	ResourceVersion string
	// Continue is set if there's another page; pass it on to get that page. All pages show the same
	// moment.
	Continue string
	// Remaining is how many items follow after this page, if the server says so.
	Remaining *int64
}

// ListWatchOptions narrow a collection down. The zero value means all objects of the kind, in all
// namespaces, with the types of client-go's scheme.
type ListWatchOptions struct {
	Namespace     string
	LabelSelector string
	FieldSelector string
	// Form is how to hold the objects. It's for collections of an interface, such as Object; every
	// other Go type has only one form.
	Form Form
	// Kind is the objects' kind. A collection of an interface needs it to make typed objects.
	// Objects without their own Go type get it as their apiVersion and kind. Without it,
	// unstructured ones keep the server's, and every metadata-only one is a PartialObjectMetadata.
	Kind schema.GroupVersionKind
	// Scheme knows the Go type of the kind.
	Scheme *runtime.Scheme
	// HTTPClient sends the requests, so collections can share its connections. By default, one is
	// made from the config. Its Timeout isn't used, because it would end every watch.
	HTTPClient *http.Client
	// JSON requests JSON where protobuf is possible, so you can read the server's answers. It costs
	// time and memory.
	JSON bool
	// Recorder records every request and every event; nil is off.
	Recorder *trace.Recorder
}

// ListWatch is a ListerWatcher over HTTP.
//
// Guarantees: one call is one HTTP request, without retries: the caller decides when to try again.
// No goroutine is started.
//
// Errors of the server are [apierrors.APIStatus]. That package distinguishes them: IsForbidden,
// IsNotFound, IsResourceExpired and so on.
//
// client-go's tools/cache.ListWatch is a pair of functions, which call the methods of a typed
// client. This one makes the requests itself, so that the protocol is in one place.
//
// [apierrors.APIStatus]: https://pkg.go.dev/k8s.io/apimachinery/pkg/api/errors#APIStatus
type ListWatch[T Object] struct {
	*objectType[T]
	client  *restClient
	options ListWatchOptions
}

// NewListWatch returns a ListWatch for T, which the API server serves as resource, for instance
// corev1.SchemeGroupVersion.WithResource("pods").
func NewListWatch[T Object](
	config *rest.Config, resource schema.GroupVersionResource,
	options ListWatchOptions,
) (*ListWatch[T], error) {
	if options.Scheme == nil {
		options.Scheme = scheme.Scheme
	}
	objects, err := newObjectType[T](resource, options)
	if err != nil {
		return nil, fmt.Errorf("making a ListWatch for %s: %w", resource.Resource, err)
	}
	options.Form = objects.form
	client, err := newRESTClient(config, resource, options)
	if err != nil {
		return nil, fmt.Errorf("making a ListWatch for %s: %w", resource.Resource, err)
	}
	return &ListWatch[T]{objectType: objects, client: client, options: options}, nil
}

// List reads the collection as it is, or a page of it.
func (l *ListWatch[T]) List(ctx context.Context, options metav1.ListOptions) (*List[T], error) {
	begin := time.Now()
	list, err := l.fetch(ctx, options)
	if err != nil {
		err = fmt.Errorf("listing %s: %w", l.client, err)
		l.recordFailure(err, options)
		return nil, err
	}
	if l.options.Recorder.On() {
		l.options.Recorder.Record(trace.Event{
			Kind: trace.List, Layer: listWatchLayer, Object: l.kind, Namespace: l.options.Namespace,
			Version: list.ResourceVersion, Count: len(list.Items), Took: time.Since(begin),
		})
	}
	return list, nil
}

func (l *ListWatch[T]) fetch(ctx context.Context, options metav1.ListOptions) (*List[T], error) {
	body, mediaType, err := l.client.get(ctx, options)
	if err != nil {
		return nil, err
	}
	if list, ok, err := l.decodeList(body, mediaType); ok {
		return list, err
	}
	object, err := l.client.decodeAll(body, mediaType)
	if err != nil {
		return nil, err
	}
	about, err := meta.ListAccessor(object)
	if err != nil {
		return nil, fmt.Errorf("the server answered with a %T, which is not a list", object)
	}
	list := &List[T]{
		Items:           make([]T, 0, meta.LenList(object)),
		ResourceVersion: about.GetResourceVersion(),
		Continue:        about.GetContinue(),
		Remaining:       about.GetRemainingItemCount(),
	}
	err = meta.EachListItem(object, func(item runtime.Object) error {
		typed, err := asObject[T](item)
		list.Items = append(list.Items, typed)
		return err
	})
	return list, err
}

// Pages lists a collection page by page, with at most options.Limit items each. An error ends the
// sequence. It may be a 410 in the middle: the server keeps the moment that the pages show for only
// a few minutes.
func Pages[T Object](
	ctx context.Context, from ListerWatcher[T], options metav1.ListOptions,
) iter.Seq2[*List[T], error] {
	return func(yield func(*List[T], error) bool) {
		for {
			page, err := listPage(ctx, from, options)
			if !yield(page, err) || err != nil || page.Continue == "" {
				return
			}
			options.Continue = page.Continue
			// The token names the moment; naming it twice is an error.
			options.ResourceVersion, options.ResourceVersionMatch = "", ""
		}
	}
}

// listPage reads a list or a page of it. A page that leads to itself is an error; otherwise the
// list would never end.
func listPage[T Object](
	ctx context.Context, from ListerWatcher[T], options metav1.ListOptions,
) (*List[T], error) {
	page, err := from.List(ctx, options)
	if err == nil && page.Continue != "" && page.Continue == options.Continue {
		return nil, errors.New("the next page is this one again: the server returned the continue " +
			"token of the request")
	}
	return page, err
}

// listWatchLayer is the name of this layer in the flight recorder.
const listWatchLayer = "listwatch"

func (l *ListWatch[T]) recordFailure(err error, options metav1.ListOptions) {
	if !l.options.Recorder.On() {
		return
	}
	event := trace.Event{
		Kind: trace.Error, Layer: listWatchLayer, Object: l.kind, Namespace: l.options.Namespace,
		Version: options.ResourceVersion, Reason: err.Error(),
	}
	if isExpired(err) {
		event.Kind = trace.Expired
	}
	l.options.Recorder.Record(event)
}

func asObject[T Object](object runtime.Object) (T, error) {
	typed, ok := object.(T)
	if !ok {
		return typed, fmt.Errorf("the server sent a %T where a %T was asked for: does the resource "+
			"belong to the Go type?", object, typed)
	}
	return typed, nil
}

// readerIdentity is a collection's name in errors and in the flight recorder. A ListerWatcher that
// isn't a ListWatch may not know its resource.
type readerIdentity struct {
	kind      string
	resource  schema.GroupVersionResource
	namespace string
}

// String is the resource, or the kind if the resource isn't known.
func (i readerIdentity) String() string {
	if i.resource.Resource == "" {
		return i.kind
	}
	return i.resource.GroupResource().String()
}

// identify asks a ListerWatcher for its name. If it has none, identify takes the name of the Go
// type, which may be an interface.
func identify[T Object](from ListerWatcher[T]) readerIdentity {
	if knows, ok := from.(interface{ identity() readerIdentity }); ok {
		return knows.identity()
	}
	goType := reflect.TypeFor[T]()
	if goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	return readerIdentity{kind: goType.Name()}
}

func (l *ListWatch[T]) identity() readerIdentity {
	return readerIdentity{kind: l.kind, resource: l.client.resource, namespace: l.options.Namespace}
}
