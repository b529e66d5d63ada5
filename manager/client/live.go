package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/apply"

	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
)

// liveClient sends every write to the API server, and every read that the cache doesn't answer.
type liveClient struct {
	restClients *restClients
	reads       reads
}

// Scheme implements Client.
func (c *liveClient) Scheme() *runtime.Scheme { return c.restClients.scheme }

// RESTMapper implements Client.
func (c *liveClient) RESTMapper() meta.RESTMapper { return c.restClients.mapper }

// GroupVersionKindFor implements Client.
func (c *liveClient) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(obj, c.restClients.scheme)
}

// IsObjectNamespaced implements Client.
func (c *liveClient) IsObjectNamespaced(obj runtime.Object) (bool, error) {
	return apiutil.IsObjectNamespaced(obj, c.restClients.scheme, c.restClients.mapper)
}

// Get implements Reader.
func (c *liveClient) Get(ctx context.Context, key ObjectKey, obj Object, opts ...GetOption) error {
	if cached, err := c.reads.areCached(obj, c.restClients.scheme); err != nil {
		return err
	} else if cached {
		if err := c.reads.cache.Get(ctx, key, obj, opts...); !c.reads.goesOn(err) {
			return err
		}
	}
	r, err := c.restClients.ofObject(obj)
	if err != nil {
		return err
	}
	r.namespace, r.name = key.Namespace, key.Name
	if r.encoding != typedObject {
		defer keepKind(obj)()
	}
	options := (&GetOptions{}).ApplyOptions(opts).AsGetOptions()
	request := r.encoding.accept(r.toObject(r.Get()).VersionedParams(options, queryCodec{}), false)
	return r.encoding.decode(request.Do(ctx), obj)
}

// List implements Reader.
func (c *liveClient) List(ctx context.Context, list ObjectList, opts ...ListOption) error {
	if cached, err := c.reads.areCached(list, c.restClients.scheme); err != nil {
		return err
	} else if cached {
		if err := c.reads.cache.List(ctx, list, opts...); !c.reads.goesOn(err) {
			return err
		}
	}
	r, err := c.restClients.ofObject(list)
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
	r.namespace = options.Namespace
	request := r.encoding.accept(r.to(r.Get()).VersionedParams(options.AsListOptions(),
		queryCodec{}), true)
	return r.encoding.decode(request.Do(ctx), list)
}

// emptyList is the answer if the caller's selector matches nothing. You can't ask the server for
// that.
func emptyList(list ObjectList) error {
	list.SetResourceVersion("")
	list.SetContinue("")
	list.SetRemainingItemCount(nil)
	return meta.SetList(list, nil)
}

// Create implements Writer.
func (c *liveClient) Create(ctx context.Context, obj Object, opts ...CreateOption) error {
	r, err := c.wholeObject(obj, "create")
	if err != nil {
		return err
	}
	if r.encoding == unstructuredObject {
		defer keepKind(obj)()
	}
	options := (&CreateOptions{}).ApplyOptions(opts).AsCreateOptions()
	return r.encoding.decode(r.to(r.Post()).Body(obj).VersionedParams(options,
		queryCodec{}).Do(ctx), obj)
}

// Update implements Writer.
func (c *liveClient) Update(ctx context.Context, obj Object, opts ...UpdateOption) error {
	r, err := c.wholeObject(obj, "update")
	if err != nil {
		return err
	}
	defer keepKind(obj)()
	options := (&UpdateOptions{}).ApplyOptions(opts).AsUpdateOptions()
	return r.encoding.decode(r.toObject(r.Put()).Body(obj).VersionedParams(options,
		queryCodec{}).Do(ctx), obj)
}

// wholeObject is for requests that send the whole object: with only the metadata, the rest of the
// object would be lost.
func (c *liveClient) wholeObject(obj Object, verb string) (restClient, error) {
	if encodingOf(obj) == metadataObject {
		return restClient{}, fmt.Errorf("cannot %s an object of which only the metadata is "+
			"known; it can be patched", verb)
	}
	return c.restClients.ofObject(obj)
}

// Patch implements Writer.
func (c *liveClient) Patch(
	ctx context.Context, obj Object, patch Patch, opts ...PatchOption,
) error {
	r, err := c.restClients.ofObject(obj)
	if err != nil {
		return err
	}
	defer keepKind(obj)()
	return r.patch(ctx, obj, patch, (&PatchOptions{}).ApplyOptions(opts))
}

// patch sends a patch of body, and stores the answer there.
func (r restClient) patch(
	ctx context.Context, body Object, patch Patch, options *PatchOptions,
) error {
	if err := r.mayPatch("patch"); err != nil {
		return err
	}
	if anyvalue.IsNil(patch) || anyvalue.IsNil(body) {
		return fmt.Errorf("patch %s %q: the patch (%T) or the object (%T) is nil", r.gvk.Kind,
			r.name, patch, body)
	}
	data, err := patch.Data(body)
	if err != nil {
		return err
	}
	request := r.toObject(r.Patch(patch.Type())).VersionedParams(options.AsPatchOptions(),
		queryCodec{}).Body(data)
	return r.encoding.decode(r.encoding.accept(request, false).Do(ctx), body)
}

// Apply implements Writer.
func (c *liveClient) Apply(
	ctx context.Context, obj runtime.ApplyConfiguration, opts ...ApplyOption,
) error {
	a, err := describeApplied(obj)
	if err != nil {
		return err
	}
	r, err := c.restClients.ofApplied(a)
	if err != nil {
		return err
	}
	return r.apply(ctx, obj, (&ApplyOptions{}).ApplyOptions(opts))
}

// apply sends body, and stores the answer there.
func (r restClient) apply(
	ctx context.Context, body runtime.ApplyConfiguration, options *ApplyOptions,
) error {
	if err := r.mayPatch("apply"); err != nil {
		return err
	}
	if anyvalue.IsNil(body) {
		return fmt.Errorf("apply %s %q: the configuration is nil (%T)", r.gvk.Kind, r.name, body)
	}
	if u, ok := body.(*unstructuredApplyConfiguration); ok {
		defer keepKind(u.Unstructured)()
	}
	request, err := apply.NewRequest(r, body)
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", r.gvk.Kind, r.name, err)
	}
	return decodeApplied(r.toObject(request).VersionedParams(options.AsPatchOptions(),
		queryCodec{}).Do(ctx), body)
}

// Delete implements Writer.
func (c *liveClient) Delete(ctx context.Context, obj Object, opts ...DeleteOption) error {
	return c.delete(ctx, obj, (&DeleteOptions{}).ApplyOptions(opts)).Error()
}

// delete returns the raw answer: the object, if it still exists, or a status.
func (c *liveClient) delete(ctx context.Context, obj Object, options *DeleteOptions) answer {
	f := encodingOf(obj)
	if f == metadataObject {
		f = typedObject // nothing of the object is sent, and none of it is needed
	}
	r, err := c.restClients.withEncoding(obj, f)
	if err != nil {
		return answer{err: err}
	}
	return deleted(r.toObject(r.Delete()).Body(options.AsDeleteOptions()).Do(ctx))
}

// deleted makes sure that the answer to a delete is an API server's. client-go reads no body here,
// so a login page with the code 200 would be a deletion. An API server sends a Status or the
// deleted object, and both have a kind.
func deleted(sent rest.Result) answer {
	var code int
	var mediaType string
	body, err := sent.StatusCode(&code).ContentType(&mediaType).Raw()
	if err != nil {
		return answer{Result: sent}
	}
	if !hasKind(mediaType, body) {
		line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
		return answer{err: fmt.Errorf("we don't know whether it was deleted: the answer is %d, %s, "+
			"%.120q, and not an API server's", code, mediaType, line)}
	}
	return answer{Result: sent}
}

// hasKind reports whether a body is a complete object with a kind.
func hasKind(mediaType string, body []byte) bool {
	if !strings.HasPrefix(mediaType, runtime.ContentTypeProtobuf) {
		var is metav1.TypeMeta
		return json.Unmarshal(body, &is) == nil && is.Kind != ""
	}
	message, isFramed := bytes.CutPrefix(body, []byte("k8s\x00"))
	var envelope runtime.Unknown
	return isFramed && envelope.Unmarshal(message) == nil && envelope.Kind != "" &&
		len(envelope.Raw) > 0 // what follows the object says how it is encoded
}

// answer is the server's answer, or the reason why there was no request.
type answer struct {
	rest.Result
	err error
}

// Error returns why the request failed.
func (a answer) Error() error {
	if a.err != nil {
		return a.err
	}
	return a.Result.Error()
}

// DeleteAllOf implements Writer.
func (c *liveClient) DeleteAllOf(ctx context.Context, obj Object, opts ...DeleteAllOfOption) error {
	r, err := c.restClients.ofObject(obj)
	if err != nil {
		return err
	}
	options := (&DeleteAllOfOptions{}).ApplyOptions(opts)
	if options.selectsNothing() {
		return nil
	}
	r.namespace = options.Namespace
	request := r.to(r.Delete()).VersionedParams(options.AsListOptions(), queryCodec{})
	if r.encoding != metadataObject {
		return deleted(request.Body(options.AsDeleteOptions()).Do(ctx)).Error()
	}
	body, err := plainJSON(options.AsDeleteOptions())
	if err != nil {
		return err
	}
	return deleted(request.SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body).
		Do(ctx)).Error()
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
func (w *watchingClient) Watch(
	ctx context.Context, list ObjectList, opts ...ListOption,
) (watch.Interface, error) {
	r, err := w.live.restClients.ofObject(list)
	if err != nil {
		return nil, err
	}
	options := (&ListOptions{}).ApplyOptions(opts)
	if options.selectsNothing() {
		return nil, errors.New("watch: the selector matches no object, and never will")
	}
	options.Raw = copyOf(options.Raw)
	options.Raw.Watch = true
	r.namespace = options.Namespace
	request := r.encoding.accept(r.to(r.Get()).VersionedParams(options.AsListOptions(),
		queryCodec{}), false)
	if seconds := options.Raw.TimeoutSeconds; r.encoding == metadataObject && seconds != nil {
		request.Timeout(time.Duration(*seconds) * time.Second)
	}
	return request.Watch(ctx)
}
