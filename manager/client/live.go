package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/apply"

	"github.com/loopwright/loopwright/manager/client/apiutil"
)

// liveClient sends every write to the API server, and every read that the cache does not answer.
type liveClient struct {
	endpoints *endpoints
	reads     reads
}

// Scheme implements Client.
func (c *liveClient) Scheme() *runtime.Scheme { return c.endpoints.scheme }

// RESTMapper implements Client.
func (c *liveClient) RESTMapper() meta.RESTMapper { return c.endpoints.mapper }

// GroupVersionKindFor implements Client.
func (c *liveClient) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(obj, c.endpoints.scheme)
}

// IsObjectNamespaced implements Client.
func (c *liveClient) IsObjectNamespaced(obj runtime.Object) (bool, error) {
	return apiutil.IsObjectNamespaced(obj, c.endpoints.scheme, c.endpoints.mapper)
}

// Get implements Reader.
func (c *liveClient) Get(ctx context.Context, key ObjectKey, obj Object, opts ...GetOption) error {
	if cached, err := c.reads.areCached(obj, c.endpoints.scheme); err != nil {
		return err
	} else if cached {
		return c.reads.cache.Get(ctx, key, obj, opts...)
	}
	t, err := c.endpoints.ofObject(obj)
	if err != nil {
		return err
	}
	t.namespace, t.name = key.Namespace, key.Name
	if t.form != formTyped {
		defer keepKind(obj)()
	}
	options := (&GetOptions{}).ApplyOptions(opts).AsGetOptions()
	request := t.form.accept(t.toObject(t.Get()).VersionedParams(options, queryCodec{}), false)
	return t.form.decode(request.Do(ctx), obj)
}

// List implements Reader.
func (c *liveClient) List(ctx context.Context, list ObjectList, opts ...ListOption) error {
	if cached, err := c.reads.areCached(list, c.endpoints.scheme); err != nil {
		return err
	} else if cached {
		return c.reads.cache.List(ctx, list, opts...)
	}
	t, err := c.endpoints.ofObject(list)
	if err != nil {
		return err
	}
	options := (&ListOptions{}).ApplyOptions(opts)
	if options.selectsNothing() {
		return emptyList(list)
	}
	if l, ok := list.(*metav1.PartialObjectMetadataList); ok {
		defer keepListKind(l)()
	}
	t.namespace = options.Namespace
	request := t.form.accept(t.to(t.Get()).VersionedParams(options.AsListOptions(), queryCodec{}), true)
	return t.form.decode(request.Do(ctx), list)
}

// emptyList is the answer if the caller selects nothing. The server cannot be asked for that.
func emptyList(list ObjectList) error {
	list.SetResourceVersion("")
	list.SetContinue("")
	list.SetRemainingItemCount(nil)
	return meta.SetList(list, nil)
}

// Create implements Writer.
func (c *liveClient) Create(ctx context.Context, obj Object, opts ...CreateOption) error {
	t, err := c.wholeObject(obj, "create")
	if err != nil {
		return err
	}
	if t.form == formUnstructured {
		defer keepKind(obj)()
	}
	options := (&CreateOptions{}).ApplyOptions(opts).AsCreateOptions()
	return t.form.decode(t.to(t.Post()).Body(obj).VersionedParams(options, queryCodec{}).Do(ctx), obj)
}

// Update implements Writer.
func (c *liveClient) Update(ctx context.Context, obj Object, opts ...UpdateOption) error {
	t, err := c.wholeObject(obj, "update")
	if err != nil {
		return err
	}
	defer keepKind(obj)()
	options := (&UpdateOptions{}).ApplyOptions(opts).AsUpdateOptions()
	return t.form.decode(t.toObject(t.Put()).Body(obj).VersionedParams(options, queryCodec{}).Do(ctx), obj)
}

// wholeObject is for requests that send the whole object, so that the rest of one that is metadata
// only would be gone.
func (c *liveClient) wholeObject(obj Object, verb string) (target, error) {
	if formOf(obj) == formMetadata {
		return target{}, fmt.Errorf("cannot %s an object of which only the metadata is known; it can be patched", verb)
	}
	return c.endpoints.ofObject(obj)
}

// Patch implements Writer.
func (c *liveClient) Patch(ctx context.Context, obj Object, patch Patch, opts ...PatchOption) error {
	t, err := c.endpoints.ofObject(obj)
	if err != nil {
		return err
	}
	defer keepKind(obj)()
	return t.patch(ctx, obj, patch, (&PatchOptions{}).ApplyOptions(opts))
}

// patch sends a patch of body, which gets the answer.
func (t target) patch(ctx context.Context, body Object, patch Patch, options *PatchOptions) error {
	if err := t.mayPatch("patch"); err != nil {
		return err
	}
	if isNil(patch) || isNil(body) {
		return fmt.Errorf("patch %s %q: the patch (%T) or the object (%T) is nil", t.gvk.Kind, t.name, patch, body)
	}
	data, err := patch.Data(body)
	if err != nil {
		return err
	}
	request := t.toObject(t.Patch(patch.Type())).VersionedParams(options.AsPatchOptions(), queryCodec{}).Body(data)
	return t.form.decode(t.form.accept(request, false).Do(ctx), body)
}

// Apply implements Writer.
func (c *liveClient) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...ApplyOption) error {
	a, err := describeApplied(obj)
	if err != nil {
		return err
	}
	t, err := c.endpoints.ofApplied(a)
	if err != nil {
		return err
	}
	return t.apply(ctx, obj, (&ApplyOptions{}).ApplyOptions(opts))
}

// apply sends body, which gets the answer.
func (t target) apply(ctx context.Context, body runtime.ApplyConfiguration, options *ApplyOptions) error {
	if err := t.mayPatch("apply"); err != nil {
		return err
	}
	if isNil(body) {
		return fmt.Errorf("apply %s %q: the configuration is nil (%T)", t.gvk.Kind, t.name, body)
	}
	if u, ok := body.(*unstructuredApplyConfiguration); ok {
		defer keepKind(u.Unstructured)()
	}
	request, err := apply.NewRequest(t, body)
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", t.gvk.Kind, t.name, err)
	}
	return decodeApplied(t.toObject(request).VersionedParams(options.AsPatchOptions(), queryCodec{}).Do(ctx), body)
}

// Delete implements Writer.
func (c *liveClient) Delete(ctx context.Context, obj Object, opts ...DeleteOption) error {
	return c.delete(ctx, obj, (&DeleteOptions{}).ApplyOptions(opts)).Error()
}

// delete returns the answer as it is: the object, if it is still there, or a status.
func (c *liveClient) delete(ctx context.Context, obj Object, options *DeleteOptions) answer {
	f := formOf(obj)
	if f == formMetadata {
		f = formTyped // nothing of the object is sent, and none of it is needed
	}
	t, err := c.endpoints.inForm(obj, f)
	if err != nil {
		return answer{err: err}
	}
	return answer{Result: t.toObject(t.Delete()).Body(options.AsDeleteOptions()).Do(ctx)}
}

// answer is that of the server, or why it was not asked.
type answer struct {
	rest.Result
	err error
}

// Error returns why it did not work.
func (a answer) Error() error {
	if a.err != nil {
		return a.err
	}
	return a.Result.Error()
}

// DeleteAllOf implements Writer.
func (c *liveClient) DeleteAllOf(ctx context.Context, obj Object, opts ...DeleteAllOfOption) error {
	t, err := c.endpoints.ofObject(obj)
	if err != nil {
		return err
	}
	options := (&DeleteAllOfOptions{}).ApplyOptions(opts)
	if options.selectsNothing() {
		return nil
	}
	t.namespace = options.Namespace
	request := t.to(t.Delete()).VersionedParams(options.AsListOptions(), queryCodec{})
	if t.form != formMetadata {
		return request.Body(options.AsDeleteOptions()).Do(ctx).Error()
	}
	body, err := plainJSON(options.AsDeleteOptions())
	if err != nil {
		return err
	}
	return request.SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body).Do(ctx).Error()
}

var _ Client = &liveClient{}

// NewWithWatch is New for a client that also watches.
func NewWithWatch(config *rest.Config, options Options) (WithWatch, error) {
	live, c, err := newClient(config, options)
	if err != nil {
		return nil, err
	}
	return &watchingClient{c, live}, nil
}

type watchingClient struct {
	Client
	live *liveClient
}

// Watch implements WithWatch. It always goes to the server.
func (w *watchingClient) Watch(ctx context.Context, list ObjectList, opts ...ListOption) (watch.Interface, error) {
	t, err := w.live.endpoints.ofObject(list)
	if err != nil {
		return nil, err
	}
	options := (&ListOptions{}).ApplyOptions(opts)
	if options.selectsNothing() {
		return nil, errors.New("watch: the selector matches no object, and never will")
	}
	options.Raw = copyOf(options.Raw)
	options.Raw.Watch = true
	t.namespace = options.Namespace
	request := t.form.accept(t.to(t.Get()).VersionedParams(options.AsListOptions(), queryCodec{}), false)
	if seconds := options.Raw.TimeoutSeconds; t.form == formMetadata && seconds != nil {
		request.Timeout(time.Duration(*seconds) * time.Second)
	}
	return request.Watch(ctx)
}
