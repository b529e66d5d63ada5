// Package client reads and writes the objects of a cluster.
//
// Neighbours: below it are apimachinery's types, and client-go's connection. Above it are
// reconcilers, which it gives what they ask for, and the cache, which answers their reads.
package client

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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

// StatusClient is a client that writes statuses.
type StatusClient interface {
	// Status returns what writes the status of objects, which is a subresource of most kinds: an
	// update of the object leaves its status as it was, and the other way round.
	Status() SubResourceWriter
}

// SubResourceClientConstructor is a client that reads and writes subresources.
type SubResourceClientConstructor interface {
	// SubResource returns what reads and writes one subresource of objects. Some have the form of
	// the object, such as "status". Others have one of their own, which is a second argument, or
	// an option:
	//
	//	c.SubResource("scale").Get(ctx, deployment, scale)
	//	c.SubResource("scale").Update(ctx, deployment, client.WithSubResourceBody(scale))
	//	c.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{})
	//	c.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: node})
	//	c.SubResource("token").Create(ctx, serviceAccount, &authenticationv1.TokenRequest{})
	//	c.SubResource("approval").Update(ctx, certificateSigningRequest)
	SubResource(subResource string) SubResourceClient
}

// SubResourceReader reads a subresource.
type SubResourceReader interface {
	// Get reads the subresource of obj into subResource.
	Get(ctx context.Context, obj Object, subResource Object, opts ...SubResourceGetOption) error
}

// SubResourceWriter writes a subresource. What the server answers is stored in what was sent.
type SubResourceWriter interface {
	// Create posts subResource. For many subresources this is a request to do something, and
	// nothing that stays.
	Create(ctx context.Context, obj Object, subResource Object,
		opts ...SubResourceCreateOption) error
	// Update replaces the subresource by that part of obj, or by the body of WithSubResourceBody.
	Update(ctx context.Context, obj Object, opts ...SubResourceUpdateOption) error
	// Patch changes a part of the subresource.
	Patch(ctx context.Context, obj Object, patch Patch, opts ...SubResourcePatchOption) error
	// Apply says which fields of the subresource the caller wants.
	Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...SubResourceApplyOption) error
}

// SubResourceClient reads and writes a subresource.
type SubResourceClient interface {
	SubResourceReader
	SubResourceWriter
}

// StatusWriter is the older name of SubResourceWriter. Programs for controller-runtime use it.
type StatusWriter = SubResourceWriter

// Object is an object of any kind: a pointer to a Go type such as *corev1.Pod, an unstructured
// object, or the metadata alone.
type Object interface {
	metav1.Object
	runtime.Object
}

// ObjectList is a list of such objects, for instance *corev1.PodList.
type ObjectList interface {
	metav1.ListInterface
	runtime.Object
}

// ObjectKey names an object among those of its kind.
type ObjectKey = types.NamespacedName

// ObjectKeyFromObject returns the name of an object.
func ObjectKeyFromObject(obj Object) ObjectKey {
	return ObjectKey{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// IndexerFunc returns the values under which an object can be found: none, one or several. It
// must be pure: the same object always has the same values. Namespaces are added by whoever
// calls it.
type IndexerFunc func(Object) []string

// FieldIndexer makes objects findable by a field, as far as a cache is concerned: a field
// selector that asks for one value of the field is answered from the index.
//
// The API server does not know the index. A read that does not go through the cache can use only
// the fields that the server can select by.
type FieldIndexer interface {
	// IndexField adds an index to the kind of obj. It belongs to the cache, and not to one
	// informer: it is there again when the informer is.
	IndexField(ctx context.Context, obj Object, field string, extractValue IndexerFunc) error
}

// WriteWaiter is what a cache offers to a client whose reads wait for its writes; see
// CacheOptions.EnableReadYourWritesConsistency. The client knows what was written, and the cache
// knows what it has seen.
//
// obj says of which kind and in which form the caller reads. A wait ends when the event has come,
// and not later; it ends with an error that wraps context.Cause if the context ends before. What
// need not be waited for is nil at once, even if the context has ended: so the client asks
// whether there is something to wait for, too.
type WriteWaiter interface {
	// Holds reports whether the cache has, or is about to get, the object as it was written. It is
	// called right after a write, with the object as the server answered it. It returns false if
	// the cache has no informer for this kind and form yet, because one that starts later lists the
	// object; if the object is in a namespace that is not in the cache; and if the cache's
	// selectors do not match. If in doubt, it returns true.
	Holds(written Object) bool
	// WaitFor waits until reads show the object no older than in this version: they show that
	// version, or a later one, or that it is gone since.
	WaitFor(ctx context.Context, obj Object, key ObjectKey, resourceVersion string) error
	// WaitForEnd waits until reads do not show an object of that name for which isOld returns true:
	// one that was deleted, or that the cache's selectors do not match any more. That reads show
	// none is enough, even if the cache is late and will show one again.
	WaitForEnd(ctx context.Context, obj Object, key ObjectKey, isOld func(Object) bool) error
}
