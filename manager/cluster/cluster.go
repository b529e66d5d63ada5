// Package cluster is the connection to one cluster: a client, a cache, and the parts that they
// need, made to fit each other.
//
// A rest.Config goes in. Out come a client that reads from the cache, a reader that always asks the
// server, the cache, the scheme, the mapper, and recorders for events.
//
// Neighbours: below it are client, cache and recorder. Above it is the manager, which is one
// cluster and the runnables that work with it. A program that works with a second cluster makes
// another one, and adds it to the manager.
package cluster

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/recorder"
)

// Cluster has everything that a program needs to work with a cluster.
type Cluster interface {
	// Provider makes recorders. Their events are written while Start runs.
	recorder.Provider

	// GetHTTPClient returns the client that sends the requests.
	GetHTTPClient() *http.Client
	// GetConfig returns the configuration that was passed to New.
	GetConfig() *rest.Config
	GetCache() cache.Cache
	GetScheme() *runtime.Scheme
	// GetClient returns a client that writes to the server and reads from the cache.
	GetClient() client.Client
	// GetFieldIndexer returns the cache, so you can add indices.
	GetFieldIndexer() client.FieldIndexer
	GetRESTMapper() meta.RESTMapper
	// GetAPIReader returns a reader that asks the server: for reads before Start, and for objects
	// that you read so seldom that caching them would be a waste.
	GetAPIReader() client.Reader

	// Start runs the cache and writes events until the context ends.
	Start(ctx context.Context) error
}

// liveCluster is what New returns.
type liveCluster struct {
	*recorder.Writer // for its methods of a Provider; Start runs it
	config           *rest.Config
	httpClient       *http.Client
	scheme           *runtime.Scheme
	mapper           meta.RESTMapper
	cache            cache.Cache
	client           client.Client
	apiReader        client.Reader
	log              logr.Logger
}

// GetHTTPClient implements Cluster.
func (c *liveCluster) GetHTTPClient() *http.Client { return c.httpClient }

// GetConfig implements Cluster.
func (c *liveCluster) GetConfig() *rest.Config { return c.config }

// GetCache implements Cluster.
func (c *liveCluster) GetCache() cache.Cache { return c.cache }

// GetScheme implements Cluster.
func (c *liveCluster) GetScheme() *runtime.Scheme { return c.scheme }

// GetClient implements Cluster.
func (c *liveCluster) GetClient() client.Client { return c.client }

// GetFieldIndexer implements Cluster.
func (c *liveCluster) GetFieldIndexer() client.FieldIndexer { return c.cache }

// GetRESTMapper implements Cluster.
func (c *liveCluster) GetRESTMapper() meta.RESTMapper { return c.mapper }

// GetAPIReader implements Cluster.
func (c *liveCluster) GetAPIReader() client.Reader { return c.apiReader }

// GetLogger returns the logger of the Options, which users' own code may look for.
func (c *liveCluster) GetLogger() logr.Logger { return c.log }

// String is what a manager calls the cluster in messages.
func (c *liveCluster) String() string { return "the cache of " + c.config.Host }

// Start implements Cluster. Events that are recorded before the end are written, if the server
// takes them within some seconds.
func (c *liveCluster) Start(ctx context.Context) error {
	writing, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var unwritten error
	var writer sync.WaitGroup
	writer.Go(func() { unwritten = c.WriteEvents(writing) })
	err := c.StartCache(ctx)
	stop(err)
	writer.Wait()
	return errors.Join(err, unwritten)
}

// StartCache is Start without the events. For its own cluster, a manager calls it and WriteEvents
// separately, because webhooks record events after the cache has ended.
func (c *liveCluster) StartCache(ctx context.Context) error {
	if err := c.cache.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done() // the Start of a fake cache returns at once
	return nil
}

// WriteEvents is Start without the cache.
func (c *liveCluster) WriteEvents(ctx context.Context) error { return c.Run(ctx) }
