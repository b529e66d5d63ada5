package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/trace"
)

// New returns a client. Writes go to the API server. Reads go to Options.Cache, or to the server if
// there's no cache, or if it isn't for objects of this kind or form.
//
// The server's warnings are logged, by the logger in the context of the call or else by
// Options.Log, unless the configuration has a warning handler.
func New(config *rest.Config, options Options) (Client, error) {
	_, c, err := newClient(config, options)
	return c, err
}

// newClient returns the client, and the one inside it.
func newClient(config *rest.Config, options Options) (*liveClient, Client, error) {
	if config == nil {
		return nil, nil, errors.New("a client needs a configuration")
	}
	config, options, err := withDefaults(config, options)
	if err != nil {
		return nil, nil, err
	}
	read, err := newReads(options.Cache, options.Scheme)
	if err != nil {
		return nil, nil, err
	}
	live := &liveClient{reads: read, restClients: &restClients{
		config: config, httpClient: options.HTTPClient, scheme: options.Scheme,
		mapper: options.Mapper,
		codecs: serializer.NewCodecFactory(options.Scheme), known: map[resourceKey]*resourceMeta{},
	}}

	var c Client = live
	if options.Cache != nil && value(options.Cache.EnableReadYourWritesConsistency) && read.cache != nil {
		waiter, ok := read.cache.(WriteWaiter)
		if !ok {
			return nil, nil, fmt.Errorf("CacheOptions.EnableReadYourWritesConsistency: the "+
				"reader is a %T, which is no client.WriteWaiter", read.cache)
		}
		c = newConsistentClient(live, waiter)
	}
	if value(options.DryRun) {
		c = NewDryRunClient(c)
	}
	if options.FieldOwner != "" {
		c = WithFieldOwner(c, options.FieldOwner)
	}
	if options.FieldValidation != "" {
		c = WithFieldValidation(c, FieldValidation(options.FieldValidation))
	}
	if options.Recorder.On() {
		c = &recordingClient{c, options.Recorder}
	}
	return live, c, nil
}

func withDefaults(config *rest.Config, options Options) (*rest.Config, Options, error) {
	config = rest.CopyConfig(config)
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	if options.Log.IsZero() {
		options.Log = log.RuntimeLog.WithName("client")
	}
	if config.WarningHandler == nil && config.WarningHandlerWithContext == nil {
		config.WarningHandlerWithContext = warnings{options.Log}
	}
	var err error
	if options.HTTPClient == nil {
		if options.HTTPClient, err = rest.HTTPClientFor(config); err != nil {
			return nil, options, fmt.Errorf("make an HTTP client: %w", err)
		}
	}
	if options.Scheme == nil {
		options.Scheme = scheme.Scheme
	}
	if options.Mapper == nil {
		if options.Mapper, err = apiutil.NewDynamicRESTMapper(config,
			options.HTTPClient); err != nil {
			return nil, options, err
		}
	}
	return config, options, nil
}

// warnings logs the server's warnings: about an API that will be removed, or a field that it
// doesn't know.
type warnings struct{ log logr.Logger }

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w warnings) HandleWarningHeaderWithContext(
	ctx context.Context, code int, _ string, message string,
) {
	if code != 299 || message == "" { // 299 is the only code that Kubernetes uses
		return
	}
	log, err := logr.FromContext(ctx)
	if err != nil {
		log = w.log
	}
	log.Info(message)
}

// Options are the options of New.
type Options struct {
	// HTTPClient sends the requests. The default is made from the configuration.
	HTTPClient *http.Client
	// Scheme knows the kinds of Go types. The default has those of Kubernetes itself.
	Scheme *runtime.Scheme
	// Mapper knows the paths of kinds. The default asks the server when it needs one; see
	// apiutil.NewDynamicRESTMapper.
	Mapper meta.RESTMapper
	// Cache answers reads; nil reads from the server.
	Cache *CacheOptions
	// DryRun makes every write a dry run; see NewDryRunClient.
	DryRun *bool
	// FieldOwner owns the fields that the client writes, unless a call sets another owner; see
	// WithFieldOwner.
	FieldOwner string
	// FieldValidation is for all writes, unless a call sets another; see WithFieldValidation.
	FieldValidation string
	// Log is for problems that can't be returned as an error. The default is the program's logger.
	Log logr.Logger
	// Recorder records the writes; nil is off.
	Recorder *trace.Recorder
}

// CacheOptions say which reads a cache answers.
type CacheOptions struct {
	// Reader is the cache; nil reads from the server.
	Reader Reader
	// DisableFor are objects or lists whose kinds are always read from the server, in all forms.
	DisableFor []Object
	// Unstructured says whether the cache also answers reads of unstructured objects. By default
	// they go to the server, because the cache would open a separate watch for them.
	Unstructured bool
	// EnableReadYourWritesConsistency makes a read from the cache wait until the cache has seen all
	// writes that returned earlier: a Get waits for those to the object, a List for those to the
	// kind. Reads in another form don't wait: if you write a typed object and read it as an
	// unstructured one, it may be old. Reader must be a WriteWaiter, like package cache's.
	//
	// DeleteAllOf returns an error, because the server doesn't say in which version it has deleted
	// which object. List the objects and delete them one by one.
	//
	// A Delete of an object that the cache has never seen isn't waited for, because its answer has
	// no version. A cache that is late may show the object for a moment afterwards.
	//
	// In controller-runtime every write starts an informer for its kind, a Delete of an object that
	// the cache hasn't seen fails, and several namespaces aren't supported. None of this applies
	// here.
	EnableReadYourWritesConsistency *bool
	// ReadElsewhere sends a read to the server if the cache says that another replica has the
	// objects of that namespace (*cache.ShardError). Otherwise, that's the error of the read.
	// controller-runtime has no such field.
	ReadElsewhere bool
}

// NewClientFunc makes a client. You can give the manager one instead of New.
type NewClientFunc func(config *rest.Config, options Options) (Client, error)

// reads says which reads a cache answers.
type reads struct {
	cache        Reader // nil if there's none
	live         map[schema.GroupVersionKind]bool
	unstructured bool // these are cached, too
	elsewhere    bool // ReadElsewhere
}

func newReads(options *CacheOptions, scheme *runtime.Scheme) (reads, error) {
	if options == nil || options.Reader == nil {
		return reads{}, nil
	}
	r := reads{cache: options.Reader, live: map[schema.GroupVersionKind]bool{},
		unstructured: options.Unstructured, elsewhere: options.ReadElsewhere}
	for _, obj := range options.DisableFor {
		gvk, err := apiutil.GVKForObject(obj, scheme)
		if err != nil {
			return reads{}, fmt.Errorf("CacheOptions.DisableFor: %w", err)
		}
		r.live[itemKind(obj, gvk)] = true
	}
	return r, nil
}

// goesOn reports whether the server has to answer a read, because the cache has answered that it
// can't.
func (r *reads) goesOn(err error) bool {
	var is interface{ IsElsewhere() bool }
	return r.elsewhere && errors.As(err, &is) && is.IsElsewhere()
}

// areCached reports whether the cache answers a read of this object or list.
func (r *reads) areCached(obj runtime.Object, scheme *runtime.Scheme) (bool, error) {
	if r.cache == nil || anyvalue.IsNil(obj) || encodingOf(obj) == unstructuredObject && !r.unstructured {
		return false, nil
	}
	if len(r.live) == 0 {
		return true, nil
	}
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return false, err
	}
	return !r.live[itemKind(obj, gvk)], nil
}
