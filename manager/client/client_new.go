package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/manager/log"
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
	live := &liveClient{reads: read, endpoints: &endpoints{
		config: config, httpClient: options.HTTPClient, scheme: options.Scheme, mapper: options.Mapper,
		codecs: serializer.NewCodecFactory(options.Scheme), known: map[endpointKey]*endpoint{},
	}}

	var c Client = live
	if options.Cache != nil && value(options.Cache.EnableReadYourWritesConsistency) && read.cache != nil {
		waiter, ok := read.cache.(WriteWaiter)
		if !ok {
			return nil, nil, fmt.Errorf("CacheOptions.EnableReadYourWritesConsistency: the reader is a %T, which is no client.WriteWaiter", read.cache)
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
		if options.Mapper, err = apiutil.NewDynamicRESTMapper(config, options.HTTPClient); err != nil {
			return nil, options, err
		}
	}
	return config, options, nil
}

// warnings logs what the server warns of: an API that will go, or a field that it does not know.
type warnings struct{ log logr.Logger }

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, _ string, message string) {
	if code != 299 || message == "" { // 299 is the only code that Kubernetes uses
		return
	}
	log, err := logr.FromContext(ctx)
	if err != nil {
		log = w.log
	}
	log.Info(message)
}
