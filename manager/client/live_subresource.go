package client

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager/internal/anyvalue"
)

// Status implements StatusClient.
func (c *liveClient) Status() SubResourceWriter { return c.SubResource("status") }

// SubResource implements SubResourceClientConstructor.
func (c *liveClient) SubResource(subResource string) SubResourceClient {
	return &liveSubResource{c, subResource}
}

// liveSubResource reads and writes one subresource of objects. There's no cache of subresources.
type liveSubResource struct {
	client *liveClient
	name   string
}

// of returns the restClient of requests about the subresource of an object.
func (s *liveSubResource) of(obj Object) (restClient, error) {
	r, err := s.client.restClients.ofObject(obj)
	r.subResource = s.name
	return r, err
}

var errUnstructuredBody = errors.New("the subresource of an unstructured object must be an " +
	"unstructured object, too")

// withBody is of, for a subresource with a form of its own. A subresource without a name gets the
// object's.
func (s *liveSubResource) withBody(obj, subResource Object, verb string) (restClient, error) {
	switch encodingOf(obj) {
	case metadataObject:
		return restClient{}, errors.New("cannot " + verb + " a subresource of an object of which " +
			"only the metadata is known")
	case unstructuredObject:
		if encodingOf(subResource) != unstructuredObject {
			return restClient{}, errUnstructuredBody
		}
	}
	r, err := s.of(obj)
	if err != nil {
		return restClient{}, err
	}
	if anyvalue.IsNil(subResource) {
		return restClient{}, fmt.Errorf("%s the %s of %s %q: its object is nil (%T)", verb, s.name,
			r.gvk.Kind, r.name, subResource)
	}
	if subResource.GetName() == "" {
		subResource.SetName(obj.GetName())
	}
	return r, nil
}

// Get implements SubResourceReader.
func (s *liveSubResource) Get(
	ctx context.Context, obj, subResource Object, opts ...SubResourceGetOption,
) error {
	r, err := s.withBody(obj, subResource, "get")
	if err != nil {
		return err
	}
	options := (&SubResourceGetOptions{}).ApplyOptions(opts).AsGetOptions()
	return r.encoding.decode(r.toObject(r.Get()).VersionedParams(options, queryCodec{}).Do(ctx),
		subResource)
}

// Create implements SubResourceWriter.
func (s *liveSubResource) Create(
	ctx context.Context, obj, subResource Object, opts ...SubResourceCreateOption,
) error {
	r, err := s.withBody(obj, subResource, "create")
	if err != nil {
		return err
	}
	defer keepKind(subResource)()
	options := (&SubResourceCreateOptions{}).ApplyOptions(opts).AsCreateOptions()
	return r.encoding.decode(r.toObject(r.Post()).Body(subResource).VersionedParams(options,
		queryCodec{}).Do(ctx), subResource)
}

// Update implements SubResourceWriter.
func (s *liveSubResource) Update(
	ctx context.Context, obj Object, opts ...SubResourceUpdateOption,
) error {
	options := (&SubResourceUpdateOptions{}).ApplyOptions(opts)
	if encodingOf(obj) == metadataObject {
		return errors.New("cannot update a subresource of an object of which only the metadata " +
			"is known; it can be patched")
	}
	r, err := s.of(obj)
	if err != nil {
		return err
	}
	body := obj
	if options.SubResourceBody != nil {
		body = options.SubResourceBody
	}
	if anyvalue.IsNil(body) {
		return fmt.Errorf("update the %s of %s %q: its object is nil (%T)", s.name, r.gvk.Kind,
			r.name, body)
	}
	if body.GetName() == "" {
		body.SetName(obj.GetName())
	}
	if body.GetNamespace() == "" {
		body.SetNamespace(obj.GetNamespace())
	}
	defer keepKind(obj)()
	request := r.toObject(r.Put()).Body(body).VersionedParams(options.AsUpdateOptions(), queryCodec{})
	return r.encoding.decode(request.Do(ctx), body)
}

// Patch implements SubResourceWriter.
func (s *liveSubResource) Patch(
	ctx context.Context, obj Object, patch Patch, opts ...SubResourcePatchOption,
) error {
	options := (&SubResourcePatchOptions{}).ApplyOptions(opts)
	r, err := s.of(obj)
	if err != nil {
		return err
	}
	body := obj
	if options.SubResourceBody != nil {
		body = options.SubResourceBody
	}
	defer keepKind(obj)()
	return r.patch(ctx, body, patch, &options.PatchOptions)
}

// Apply implements SubResourceWriter. If the subresource has a body, the answer is stored there;
// controller-runtime stores it in the object's configuration, which has another form.
func (s *liveSubResource) Apply(
	ctx context.Context, obj runtime.ApplyConfiguration, opts ...SubResourceApplyOption,
) error {
	options := (&SubResourceApplyOptions{}).ApplyOpts(opts)
	a, err := describeApplied(obj)
	if err != nil {
		return err
	}
	r, err := s.client.restClients.ofApplied(a)
	if err != nil {
		return err
	}
	r.subResource = s.name
	body := obj
	if options.SubResourceBody != nil {
		body = options.SubResourceBody
	}
	return r.apply(ctx, body, &options.ApplyOptions)
}
