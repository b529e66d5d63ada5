package cluster

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/recorder"
)

// Options of a cluster. You can leave every field empty.
type Options struct {
	// Scheme knows the Go types. The default is client-go's, which has the types of Kubernetes
	// itself.
	Scheme *runtime.Scheme
	// MapperProvider makes the mapper from kinds to resources. The default asks the API server.
	MapperProvider func(c *rest.Config, httpClient *http.Client) (meta.RESTMapper, error)
	// Logger is for problems that can't be returned as an error. The default is log.RuntimeLog.
	Logger logr.Logger
	// HTTPClient sends the requests. By default it's made from the configuration.
	HTTPClient *http.Client
	// Cache has the options of the cache. Those that are empty are taken from here.
	Cache cache.Options
	// NewCache makes the cache. The default is cache.New.
	NewCache cache.NewCacheFunc
	// Client has the options of the client. Those that are empty are taken from here.
	Client client.Options
	// NewClient makes the client. The default is client.New.
	NewClient client.NewClientFunc
}

// Option changes the Options.
type Option func(*Options)

// New returns a cluster. It starts nothing. Only two things may talk to the server: a
// MapperProvider, and the cache if its ByObject gives a kind Namespaces, because it has to know
// whether the kind is namespaced.
func New(config *rest.Config, opts ...Option) (Cluster, error) {
	if config == nil {
		return nil, errors.New("a cluster needs a configuration; config.GetConfig finds one")
	}
	var options Options
	for _, opt := range opts {
		opt(&options)
	}
	given := config
	config, err := options.complete(config)
	if err != nil {
		return nil, err
	}
	c := &liveCluster{config: given, httpClient: options.HTTPClient, scheme: options.Scheme,
		log: options.Logger}
	if c.mapper, err = options.MapperProvider(config, c.httpClient); err != nil {
		return nil, fmt.Errorf("making the RESTMapper of a cluster: %w", err)
	}
	if c.cache, err = options.NewCache(config, c.cacheOptions(options.Cache)); err != nil {
		return nil, fmt.Errorf("making the cache of a cluster: %w", err)
	}
	if c.client, err = options.NewClient(config, c.clientOptions(options.Client)); err != nil {
		return nil, fmt.Errorf("making the client of a cluster: %w", err)
	}
	c.apiReader, err = client.New(config, client.Options{HTTPClient: c.httpClient, Scheme: c.scheme,
		Mapper: c.mapper, Log: c.log})
	if err != nil {
		return nil, fmt.Errorf("making the API reader of a cluster: %w", err)
	}
	c.Writer, err = recorder.New(config, c.httpClient, c.scheme,
		recorder.Options{Logger: options.Logger.WithName("events")})
	if err != nil {
		return nil, fmt.Errorf("making the event writer of a cluster: %w", err)
	}
	return c, nil
}

// complete fills in the fields that may be left empty, and returns the configuration for sending
// requests.
func (o *Options) complete(config *rest.Config) (*rest.Config, error) {
	config = rest.CopyConfig(config)
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	if o.HTTPClient == nil {
		made, err := rest.HTTPClientFor(config)
		if err != nil {
			return nil, fmt.Errorf("making the HTTP client of a cluster: %w", err)
		}
		o.HTTPClient = made
	}
	if o.Scheme == nil {
		o.Scheme = scheme.Scheme
	}
	if o.MapperProvider == nil {
		o.MapperProvider = apiutil.NewDynamicRESTMapper
	}
	if o.NewCache == nil {
		o.NewCache = cache.New
	}
	if o.NewClient == nil {
		o.NewClient = client.New
	}
	if o.Logger.GetSink() == nil {
		o.Logger = log.RuntimeLog.WithName("cluster")
	}
	return config, nil
}

func (c *liveCluster) cacheOptions(options cache.Options) cache.Options {
	if options.Scheme == nil {
		options.Scheme = c.scheme
	}
	if options.Mapper == nil {
		options.Mapper = c.mapper
	}
	if options.HTTPClient == nil {
		options.HTTPClient = c.httpClient
	}
	if options.Logger == nil {
		options.Logger = new(c.log.WithName("cache"))
	}
	return options
}

func (c *liveCluster) clientOptions(options client.Options) client.Options {
	if options.Scheme == nil {
		options.Scheme = c.scheme
	}
	if options.Mapper == nil {
		options.Mapper = c.mapper
	}
	if options.HTTPClient == nil {
		options.HTTPClient = c.httpClient
	}
	if options.Log.GetSink() == nil {
		options.Log = c.log
	}
	var reads client.CacheOptions // a copy: the caller's may be shared by two clusters
	if options.Cache != nil {
		reads = *options.Cache
	}
	if reads.Reader == nil {
		reads.Reader = c.cache
	}
	options.Cache = &reads
	return options
}
