package client

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// Reader reads objects: from the API server, or from a cache that is as new as its watch.
type Reader interface {
	// Get reads one object into obj, which must not be nil.
	Get(ctx context.Context, key ObjectKey, obj Object, opts ...GetOption) error
	// List reads the objects that the options select into the items of list.
	List(ctx context.Context, list ObjectList, opts ...ListOption) error
}

// Writer writes objects. What the server answers is stored in the object that was given: its
// version, its UID and its defaults among others. An object whose write failed is as it was.
type Writer interface {
	// Apply says which fields the caller wants, and the server merges them with those of others.
	// This is server-side apply: an apply configuration has only the fields that are meant.
	Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...ApplyOption) error
	// Create makes the object.
	Create(ctx context.Context, obj Object, opts ...CreateOption) error
	// Delete deletes the object of that kind and name. An object with finalizers stays until they
	// are gone.
	Delete(ctx context.Context, obj Object, opts ...DeleteOption) error
	// Update replaces the object. If it has a resourceVersion, and the one in the cluster has
	// another, the answer is a conflict. Most kinds ignore the status here: see Client.Status.
	Update(ctx context.Context, obj Object, opts ...UpdateOption) error
	// Patch changes a part of the object.
	Patch(ctx context.Context, obj Object, patch Patch, opts ...PatchOption) error
	// DeleteAllOf deletes all objects of obj's kind that the options select.
	DeleteAllOf(ctx context.Context, obj Object, opts ...DeleteAllOfOption) error
}

// Client reads and writes the objects of a cluster.
//
// An object may be a pointer to a Go type that the scheme knows; an unstructured object, which
// says itself of what kind it is; or a metav1.PartialObjectMetadata, for callers that need only
// the metadata. The last can be read, patched and deleted.
//
// Errors: what the server refuses has the type of apimachinery's errors package
// (apierrors.IsNotFound, IsConflict...); a kind that the server does not have is a
// meta.IsNoMatchError, a Go type that the scheme does not have a runtime.IsNotRegisteredError.
type Client interface {
	Reader
	Writer
	StatusClient
	SubResourceClientConstructor

	// Scheme returns what knows the kinds of Go types.
	Scheme() *runtime.Scheme
	// RESTMapper returns what knows the paths of kinds.
	RESTMapper() meta.RESTMapper
	// GroupVersionKindFor returns the kind of an object.
	GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error)
	// IsObjectNamespaced reports whether objects of this kind are in namespaces.
	IsObjectNamespaced(obj runtime.Object) (bool, error)
}

// WithWatch is a client that also watches. It is for programs that wait for one thing and end,
// such as command line tools: the watch is not repeated when the server ends it. Everything else
// should use a cache.
type WithWatch interface {
	Client
	// Watch sends what changes among the objects that the options select. The caller has to stop
	// it.
	Watch(ctx context.Context, list ObjectList, opts ...ListOption) (watch.Interface, error)
}

// IgnoreNotFound returns nil if the error says that the object is not there, and the error
// otherwise.
func IgnoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// IgnoreAlreadyExists returns nil if the error says that the object is there already, and the
// error otherwise.
func IgnoreAlreadyExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
