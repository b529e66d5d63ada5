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

// AllNamespaces, as a key of Namespaces, stands for all namespaces that aren't keys themselves.
const AllNamespaces = metav1.NamespaceAll

// Options of a cache. You can leave every field empty.
type Options struct {
	// HTTPClient sends the requests. By default it's made from the config.
	HTTPClient *http.Client
	// Scheme knows the Go types. The default is client-go's.
	Scheme *runtime.Scheme
	// Mapper knows the resources of the kinds. The default asks the server.
	Mapper meta.RESTMapper

	// SyncPeriod is how often handlers get all objects again, as updates without a change; nil
	// means 10 hours. It varies by up to a tenth, so that not all kinds come at once. No requests
	// are sent to the server.
	SyncPeriod *time.Duration
	// ReaderFailOnMissingInformer returns an ErrResourceNotCached for a read of a kind that has no
	// informer, instead of starting one.
	ReaderFailOnMissingInformer bool
	// ReaderFailOnRefusal makes reads fail once the server no longer lets an informer read, because
	// a permission was withdrawn or a credential has expired. The error wraps an
	// *informer.RefusedError. Without it, reads keep returning the objects that the cache has, as
	// in controller-runtime. CheckHealth says when a refusal is noticed.
	ReaderFailOnRefusal bool

	// DefaultNamespaces are the namespaces of all kinds that have namespaces and none in ByObject.
	// Nil or empty means all of them, in one informer for each kind. Settings that a Config leaves
	// empty are taken from ByObject first, then from the defaults below.
	DefaultNamespaces map[string]Config
	// The defaults are for all kinds and namespaces without a setting of their own.
	DefaultLabelSelector labels.Selector
	DefaultFieldSelector fields.Selector
	DefaultTransform     informer.TransformFunc
	// DefaultWatchErrorHandler is called with every error of a list or a watch, before the pause
	// that follows it. By default an error is logged if it differs from the last two. A refusal is
	// an *informer.RefusedError, which names the missing rule.
	//
	// It also gets a context and client-go's reflector, which are empty.
	DefaultWatchErrorHandler     informer.WatchErrorHandlerWithContext
	DefaultUnsafeDisableDeepCopy *bool
	DefaultEnableWatchBookmarks  *bool

	// ByObject has settings for single kinds. The key is an object of the kind; its content doesn't
	// matter. They apply to typed, unstructured and metadata-only objects.
	ByObject map[client.Object]ByObject

	// Shard makes the cache keep only the objects of some namespaces, to begin with these; nil keeps
	// all. Kinds without namespaces are kept whole, as are those with KeepWhole. See Sharded.
	// controller-runtime has no such field, nor KeepWhole.
	Shard informer.Shard

	// NewInformer makes the informers, for programs that change their options or where they read
	// from. obj is an empty object of the kind. controller-runtime's has client-go's types.
	NewInformer func(from informer.ListerWatcher[client.Object], obj client.Object,
		options informer.InformerOptions[client.Object]) *informer.Informer[client.Object]
	// Logger is for problems that no caller gets as an error: a removed kind, a server that
	// refuses, a handler's panic; nil means the program's. A manager passes its own on.
	// controller-runtime has no such field. It's a pointer because go-cmp can't compare Options
	// that hold a logger.
	Logger *logr.Logger
	// Recorder records what the informers do; nil is off.
	Recorder *trace.Recorder
}

// ByObject has the settings of one kind.
type ByObject struct {
	// Namespaces are the namespaces of the kind. Nil means DefaultNamespaces, an empty map means
	// all. It must be nil for a kind without namespaces. Settings that a Config leaves empty are
	// taken from the fields below, then from DefaultNamespaces, then from the Options' defaults.
	Namespaces map[string]Config

	Label                 labels.Selector
	Field                 fields.Selector
	Transform             informer.TransformFunc
	UnsafeDisableDeepCopy *bool
	EnableWatchBookmarks  *bool
	SyncPeriod            *time.Duration

	// KeepWhole keeps all objects of the kind, whatever the Options' Shard is: reconcilers of one
	// namespace read those of another, or handlers map them to requests there.
	KeepWhole bool
}

// Config has the settings of one namespace. A nil field is a setting left empty.
type Config struct {
	// LabelSelector and FieldSelector select the objects that are in the cache; it knows nothing
	// about the others. labels.Everything() and fields.Everything() are settings, too.
	LabelSelector labels.Selector
	FieldSelector fields.Selector
	// Transform changes objects before they're stored, to make them smaller. If it fails, the
	// object is stored as Transform left it, and the error is logged; see informer.Transform.
	Transform informer.TransformFunc
	// UnsafeDisableDeepCopy makes reads return the objects in the cache instead of copies. If you
	// change one, you change it for all readers.
	UnsafeDisableDeepCopy *bool
	// EnableWatchBookmarks says whether the server may send bookmarks; nil means true. Without
	// them, an informer starts with a list instead of a stream, and lists more often after
	// failures. It also can't tell a quiet watch from one that waits for a version which the server
	// has lost: after a restore from a backup, it shows the undone history until you restart it.
	EnableWatchBookmarks *bool
	SyncPeriod           *time.Duration
}

// TransformStripManagedFields returns a Transform that drops managedFields. They say who set which
// field, can be half of an object, and are useless to most controllers.
func TransformStripManagedFields() informer.TransformFunc {
	return func(in any) (any, error) {
		if object, ok := in.(metav1.Object); ok && object.GetManagedFields() != nil {
			object.SetManagedFields(nil)
		}
		return in, nil
	}
}

// withDefaults fills in the fields that are needed to talk to the server.
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
