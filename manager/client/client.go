// Package client reads and writes the objects of a cluster.
//
// Writes go to the API server. Reads may come from a cache, which is a little behind; see
// CacheOptions.EnableReadYourWritesConsistency.
//
// Neighbours: below it are apimachinery's types, and client-go's connection. Above it are
// reconcilers, which use it, and the cache, which answers its reads.
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

// Writer writes objects. It stores the server's answer in the object that you pass, with its new
// version, UID and defaults. If a write fails, the object stays unchanged.
type Writer interface {
	// Apply says which fields the caller wants, and the server merges them with those of others.
	// This is server-side apply: an apply configuration has only the fields that you set.
	Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...ApplyOption) error
	// Create creates the object.
	Create(ctx context.Context, obj Object, opts ...CreateOption) error
	// Delete deletes the object of that kind and name. An object with finalizers stays until
	// they're removed.
	Delete(ctx context.Context, obj Object, opts ...DeleteOption) error
	// Update replaces the object. If it has a resourceVersion that differs from the one in the
	// cluster, the error is a conflict. Most kinds ignore the status here: see Client.Status.
	Update(ctx context.Context, obj Object, opts ...UpdateOption) error
	// Patch changes a part of the object.
	Patch(ctx context.Context, obj Object, patch Patch, opts ...PatchOption) error
	// DeleteAllOf deletes all objects of obj's kind that the options select.
	DeleteAllOf(ctx context.Context, obj Object, opts ...DeleteAllOfOption) error
}

// Client reads and writes the objects of a cluster.
//
// An object may be a pointer to a Go type that the scheme knows; an unstructured object, which
// knows its own kind; or a metav1.PartialObjectMetadata, if you need only the metadata. The last
// can be read, patched and deleted.
//
// Errors: if the server refuses, the error is one of apimachinery's errors package
// (apierrors.IsNotFound, IsConflict...). A kind that the server doesn't have is a
// meta.IsNoMatchError, and a Go type that the scheme doesn't have is a
// runtime.IsNotRegisteredError.
type Client interface {
	Reader
	Writer
	StatusClient
	SubResourceClientConstructor

	// Scheme returns the scheme, which knows the kinds of Go types.
	Scheme() *runtime.Scheme
	// RESTMapper returns the mapper, which knows the paths of kinds.
	RESTMapper() meta.RESTMapper
	// GroupVersionKindFor returns the kind of an object.
	GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error)
	// IsObjectNamespaced reports whether objects of this kind are in namespaces.
	IsObjectNamespaced(obj runtime.Object) (bool, error)
}

// WithWatch is a client that also watches. It's for programs that wait for one thing and end, such
// as command line tools: when the server ends the watch, it isn't repeated. Everything else should
// use a cache.
type WithWatch interface {
	Client
	// Watch sends the changes of the objects that the options select. The caller has to stop it.
	Watch(ctx context.Context, list ObjectList, opts ...ListOption) (watch.Interface, error)
}

// IgnoreNotFound returns nil if the error says that the object doesn't exist, and the error
// otherwise.
func IgnoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// IgnoreAlreadyExists returns nil if the error says that the object already exists, and the error
// otherwise.
func IgnoreAlreadyExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// StatusClient is a client that writes statuses.
type StatusClient interface {
	// Status returns a writer for the status of objects, which is a subresource of most kinds: an
	// update of the object leaves its status alone, and vice versa.
	Status() SubResourceWriter
}

// SubResourceClientConstructor is a client that reads and writes subresources.
type SubResourceClientConstructor interface {
	// SubResource returns a client for one subresource of objects. Some subresources have the form
	// of the object, such as "status". Others have their own, which is a second argument, or an
	// option:
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

// SubResourceWriter writes a subresource. It stores the server's answer in the object that it sent.
type SubResourceWriter interface {
	// Create posts subResource. For many subresources this is a request to do something, and
	// nothing is stored.
	Create(ctx context.Context, obj Object, subResource Object,
		opts ...SubResourceCreateOption) error
	// Update replaces the subresource with that part of obj, or with the body of
	// WithSubResourceBody.
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

// IndexerFunc returns the values by which an object can be found: none, one or several. It must be
// pure: the same object always has the same values. Don't add namespaces; the caller does.
type IndexerFunc func(Object) []string

// FieldIndexer makes objects in a cache findable by a field: the index answers reads whose field
// selector names one value of the field.
//
// The API server doesn't know the index. A read that bypasses the cache can only use fields that
// the server itself can select by.
type FieldIndexer interface {
	// IndexField adds an index to the kind of obj. It belongs to the cache, not to one informer: if
	// the informer is replaced, the new one has it, too.
	IndexField(ctx context.Context, obj Object, field string, extractValue IndexerFunc) error
}

// WriteWaiter is a cache that lets a client's reads wait for its writes; see
// CacheOptions.EnableReadYourWritesConsistency. The client knows what it has written, and the cache
// knows what it has seen.
//
// obj says in which kind and form the caller reads. A wait ends as soon as the event arrives. If
// the context ends first, it returns an error that wraps context.Cause. If there's nothing to wait
// for, it returns nil at once, even if the context has ended: that's how the client checks whether
// there's anything to wait for.
type WriteWaiter interface {
	// Holds reports whether the cache has the object as it was written, or is about to get it. It's
	// called right after a write, with the server's answer. It returns false in three cases: the
	// cache has no informer for this kind and form yet, because one that starts later lists the
	// object; the object's namespace isn't in the cache; or the cache's selectors don't match. If
	// in doubt, it returns true.
	Holds(written Object) bool
	// WaitFor waits until reads no longer show the object in an older version than this: they show
	// that version, a later one, or that the object has been deleted since.
	WaitFor(ctx context.Context, obj Object, key ObjectKey, resourceVersion string) error
	// WaitForEnd waits until reads show no object of that name for which isOld returns true: one
	// that was deleted, or that the cache's selectors no longer match. It's enough that reads show
	// none, even if the cache is late and will show one again.
	WaitForEnd(ctx context.Context, obj Object, key ObjectKey, isOld func(Object) bool) error
}

// Progress is what a WriteWaiter can say besides, as package cache's does: how far it has come. It
// tells the client that the server was restored from a backup, which may have undone a write.
type Progress interface {
	// Reached returns the version that reads of the object show, or "" if there is none, and how
	// often the cache went back to an older one.
	Reached(obj Object, key ObjectKey) (version string, rewinds int)
}
