package cache

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/trace"
)

// AllNamespaces, as a key of Namespaces, stands for all namespaces that are not there by name.
const AllNamespaces = metav1.NamespaceAll

// Options of a cache. All may be left empty.
type Options struct {
	// HTTPClient sends the requests; by default it is made from the config.
	HTTPClient *http.Client
	// Scheme knows the Go types; by default it is client-go's.
	Scheme *runtime.Scheme
	// Mapper knows the resources of the kinds; by default it asks the server.
	Mapper meta.RESTMapper

	// SyncPeriod is how often handlers are told all objects again, as updates in which nothing has
	// changed; nil is 10 hours. Up to a tenth is added or taken off, so that not all kinds come at
	// once. It asks the server for nothing.
	SyncPeriod *time.Duration
	// ReaderFailOnMissingInformer makes a read of a kind that has no informer an
	// ErrResourceNotCached, and does not start one.
	ReaderFailOnMissingInformer bool
	// ReaderFailOnRefusal makes reads fail when the server does not let an informer read any more,
	// because a right was withdrawn or a credential has expired. The error wraps an
	// *informer.RefusedError. Without it, reads go on with what there was, as in
	// controller-runtime; see CheckHealth, also for when this is noticed.
	ReaderFailOnRefusal bool

	// DefaultNamespaces are the namespaces of all kinds that have namespaces and none in ByObject.
	// Nil or empty is all of them, in one informer for each kind. What a Config leaves open is
	// taken from ByObject first, then from the defaults below.
	DefaultNamespaces map[string]Config
	// The defaults are for all kinds and namespaces that have no setting of their own.
	DefaultLabelSelector labels.Selector
	DefaultFieldSelector fields.Selector
	DefaultTransform     informer.TransformFunc
	// DefaultWatchErrorHandler is called with every error of a list or a watch, before the pause
	// that follows it. By default an error is logged when it is another than the last. A refusal is
	// an *informer.RefusedError, which names the rule that is missing.
	//
	// controller-runtime's also gets a context and client-go's reflector.
	DefaultWatchErrorHandler     func(err error)
	DefaultUnsafeDisableDeepCopy *bool
	DefaultEnableWatchBookmarks  *bool

	// ByObject has settings for single kinds. The key is an object of the kind; its content does
	// not matter. They hold for typed, unstructured and metadata-only objects.
	ByObject map[client.Object]ByObject

	// NewInformer makes the informers, for programs that change their options or what they
	// read from. obj is an empty object of the kind. controller-runtime's has client-go's types.
	NewInformer func(from informer.ListerWatcher[client.Object], obj client.Object,
		options informer.InformerOptions[client.Object]) *informer.Informer[client.Object]
	// Logger is for what no caller gets as an error: a kind that is gone, a server that refuses, a
	// handler's panic; nil is the program's. A manager passes its own on. It is ours, and a
	// pointer, because go-cmp cannot compare Options that hold a logger.
	Logger *logr.Logger
	// Recorder records what the informers do; nil is off.
	Recorder *trace.Recorder
}

// ByObject has the settings of one kind.
type ByObject struct {
	// Namespaces are those of the kind. Nil stands for DefaultNamespaces, an empty map for all. A
	// kind without namespaces must have nil. What a Config leaves open is taken from the fields
	// below, then from DefaultNamespaces, then from the Options' defaults.
	Namespaces map[string]Config

	Label                 labels.Selector
	Field                 fields.Selector
	Transform             informer.TransformFunc
	UnsafeDisableDeepCopy *bool
	EnableWatchBookmarks  *bool
	SyncPeriod            *time.Duration
}

// Config has the settings of one namespace. A nil field is one that is left open.
type Config struct {
	// LabelSelector and FieldSelector pick the objects that are in the cache: it knows nothing of
	// the others. labels.Everything() and fields.Everything() are settings, too.
	LabelSelector labels.Selector
	FieldSelector fields.Selector
	// Transform changes objects before they are stored, to make them smaller. If it fails, the
	// object is stored as it came, and the error is logged; see informer.Transform.
	Transform informer.TransformFunc
	// UnsafeDisableDeepCopy makes reads return what is in the cache, and not a copy. Whoever
	// changes that, changes it for everybody.
	UnsafeDisableDeepCopy *bool
	// EnableWatchBookmarks says whether the server may send bookmarks; nil is true. Without them,
	// an informer is started by a list and not by a stream, and more often after a failure.
	EnableWatchBookmarks *bool
	SyncPeriod           *time.Duration
}

// TransformStripManagedFields returns a Transform that drops managedFields. They say who set which
// field, are up to half of an object, and are of no use to most controllers.
func TransformStripManagedFields() informer.TransformFunc {
	return func(in any) (any, error) {
		if object, ok := in.(metav1.Object); ok && object.GetManagedFields() != nil {
			object.SetManagedFields(nil)
		}
		return in, nil
	}
}

// withDefaults fills in what is needed to talk to the server.
func withDefaults(config *rest.Config, opts Options) (Options, error) {
	if config == nil {
		return opts, errors.New("a cache needs a configuration")
	}
	config = rest.CopyConfig(config)
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	if opts.HTTPClient == nil {
		made, err := rest.HTTPClientFor(config)
		if err != nil {
			return opts, fmt.Errorf("making the HTTP client of a cache: %w", err)
		}
		opts.HTTPClient = made
	}
	if opts.Scheme == nil {
		opts.Scheme = scheme.Scheme
	}
	if opts.Mapper == nil {
		made, err := apiutil.NewDynamicRESTMapper(config, opts.HTTPClient)
		if err != nil {
			return opts, fmt.Errorf("making the RESTMapper of a cache: %w", err)
		}
		opts.Mapper = made
	}
	return opts, nil
}
