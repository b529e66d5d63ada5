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

// New returns a client. Writes go to the API server; reads go to Options.Cache, and to the server
// if there is none, or if the cache is not for objects of this kind or form.
//
// What the server warns of is logged, by the logger in the context of the call or else by
// Options.Log, unless the configuration has a warning handler.
func New(config *rest.Config, options Options) (Client, error) {
	_, c, err := newClient(config, options)
	return c, err
}

// newClient returns the client, and what is inside of it.
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

// warnings logs what the server warns of: an API that will go, or a field that it does not know.
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
	// Scheme knows the kinds of Go types. The default knows those of Kubernetes itself.
	Scheme *runtime.Scheme
	// Mapper knows the paths of kinds. The default asks the server when it needs one; see
	// apiutil.NewDynamicRESTMapper.
	Mapper meta.RESTMapper
	// Cache answers reads; nil reads from the server.
	Cache *CacheOptions
	// DryRun makes every write a dry run; see NewDryRunClient.
	DryRun *bool
	// FieldOwner is the owner of what is written, unless a call says otherwise; see WithFieldOwner.
	FieldOwner string
	// FieldValidation is for all writes, unless a call says otherwise; see WithFieldValidation.
	FieldValidation string
	// Log is for what cannot be returned as an error. The default is the program's logger.
	Log logr.Logger
	// Recorder records the writes; nil is off.
	Recorder *trace.Recorder
}

// CacheOptions say which reads a cache answers.
type CacheOptions struct {
	// Reader is the cache; nil reads from the server.
	Reader Reader
	// DisableFor are objects or lists whose kinds are read from the server all the same, in all
	// forms.
	DisableFor []Object
	// Unstructured says whether the cache answers reads of unstructured objects, too. By default
	// they go to the server, because the cache would open a watch of its own for them.
	Unstructured bool
	// EnableReadYourWritesConsistency makes a read from the cache wait until the cache has seen the
	// writes that have returned before: Get those of the object, List those of the kind. Reads of
	// another form do not wait: what was written as a typed object may be old when it is read as an
	// unstructured one. Reader must be a WriteWaiter, as the cache of package cache is.
	//
	// DeleteAllOf returns an error then: the server does not say in which version it has deleted
	// what. List, and delete one by one.
	//
	// A Delete of an object that the cache has never seen is not waited for: the answer has no
	// version. A cache that is late may show the object for a moment afterwards.
	//
	// In controller-runtime every write starts an informer for its kind, a Delete of an object that
	// the cache has not seen fails, and several namespaces are not supported. None of this is so
	// here.
	EnableReadYourWritesConsistency *bool
}

// NewClientFunc makes a client. The manager takes one, for programs that want another than New.
type NewClientFunc func(config *rest.Config, options Options) (Client, error)

// reads says which reads a cache answers.
type reads struct {
	cache        Reader // nil if there is none
	live         map[schema.GroupVersionKind]bool
	unstructured bool // these are cached, too
}

func newReads(options *CacheOptions, scheme *runtime.Scheme) (reads, error) {
	if options == nil || options.Reader == nil {
		return reads{}, nil
	}
	r := reads{cache: options.Reader, live: map[schema.GroupVersionKind]bool{},
		unstructured: options.Unstructured}
	for _, obj := range options.DisableFor {
		gvk, err := apiutil.GVKForObject(obj, scheme)
		if err != nil {
			return reads{}, fmt.Errorf("CacheOptions.DisableFor: %w", err)
		}
		r.live[itemKind(obj, gvk)] = true
	}
	return r, nil
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
