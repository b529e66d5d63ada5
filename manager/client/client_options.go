package client

import (
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

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
}

// CacheOptions say which reads a cache answers.
type CacheOptions struct {
	// Reader is the cache; nil reads from the server.
	Reader Reader
	// DisableFor are objects or lists whose kinds are read from the server all the same, in all
	// forms.
	DisableFor []Object
	// Unstructured says whether the cache answers reads of unstructured objects, too. By default they
	// go to the server, because the cache would open a watch of its own for them.
	Unstructured bool
	// EnableReadYourWritesConsistency makes a read from the cache wait until the cache has seen the
	// writes that this client began before: Get those of the object, List those of the kind. Reads of
	// another form do not wait: what was written as a typed object may be old when it is read as an
	// unstructured one. Reader must be a WriteWaiter, as the cache of package cache is.
	//
	// If a write takes an object out of the cache's selectors, and the next one comes before the cache has seen
	// that, a read waits for the server's next bookmark, up to a minute: the second write has no event.
	//
	// DeleteAllOf returns an error then: the server does not say in which version it has deleted
	// what. List, and delete one by one.
	//
	// In controller-runtime every write starts an informer for its kind, a Delete of an object that
	// the cache has not seen fails, and several namespaces are not supported. None of this is so
	// here.
	EnableReadYourWritesConsistency *bool
}

// NewClientFunc makes a client. The manager takes one, for programs that want another than New.
type NewClientFunc func(config *rest.Config, options Options) (Client, error)
