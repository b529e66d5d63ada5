package client

import (
	"fmt"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/client/apiutil"
)

// restClient sends requests about one object: a connection, and the parts of the path.
type restClient struct {
	*resourceMeta
	namespace, name, subResource string
}

// to completes a request to a collection: namespace and resource.
func (r restClient) to(request *rest.Request) *rest.Request {
	return request.NamespaceIfScoped(r.namespace,
		r.isNamespaced()).Resource(r.mapping.Resource.Resource)
}

// toObject completes a request to one object, or to a subresource of it. If the name is missing, or
// a namespace that the kind needs, the request is an error and isn't sent. controller-runtime sends
// such a request if it's about metadata, and the server says "not found", which to a reconciler
// means that the object was deleted.
func (r restClient) toObject(request *rest.Request) *rest.Request {
	request = r.to(request).Name(r.name)
	if r.subResource != "" {
		request = request.SubResource(r.subResource)
	}
	return request
}

// mayPatch returns an error for a patch or an apply that lacks a namespace which the kind needs.
// client-go refuses other requests by itself, but sends these to a path that no server has, and the
// 404 doesn't say why.
func (r restClient) mayPatch(verb string) error {
	if r.isNamespaced() && r.namespace == "" {
		return fmt.Errorf("%s %s %q: its namespace is missing: set it, a %s is always in one", verb,
			r.gvk.Kind, r.name, r.gvk.Kind)
	}
	return nil
}

// resourceMeta is a kind in one encoding: it doesn't change.
type resourceMeta struct {
	rest.Interface
	gvk      schema.GroupVersionKind
	mapping  *meta.RESTMapping
	encoding encoding
}

func (m *resourceMeta) isNamespaced() bool { return m.mapping.Scope.Name() != meta.RESTScopeNameRoot }

// restClients makes the clients of kinds, and keeps the parts that don't change.
type restClients struct {
	config     *rest.Config
	httpClient *http.Client
	scheme     *runtime.Scheme
	mapper     meta.RESTMapper
	codecs     serializer.CodecFactory

	mu    sync.RWMutex // guards known
	known map[resourceKey]*resourceMeta
}

type resourceKey struct {
	gvk      schema.GroupVersionKind
	encoding encoding
}

// ofObject returns the client for requests about an object, or about a list's items.
func (c *restClients) ofObject(obj runtime.Object) (restClient, error) {
	return c.withEncoding(obj, encodingOf(obj))
}

func (c *restClients) withEncoding(obj runtime.Object, e encoding) (restClient, error) {
	gvk, err := apiutil.GVKForObject(obj, c.scheme)
	if err != nil {
		return restClient{}, err
	}
	found, err := c.find(itemKind(obj, gvk), e)
	if err != nil {
		return restClient{}, err
	}
	r := restClient{resourceMeta: found}
	if object, ok := obj.(Object); ok {
		r.namespace, r.name = object.GetNamespace(), object.GetName()
	}
	return r, nil
}

// ofApplied returns the client for a request that applies something.
func (c *restClients) ofApplied(a applied) (restClient, error) {
	found, err := c.find(a.gvk, a.encoding)
	if err != nil {
		return restClient{}, err
	}
	return restClient{resourceMeta: found, namespace: a.key.Namespace, name: a.key.Name}, nil
}

// find doesn't hold the lock while it asks the server, so requests for other kinds go on. At first,
// two callers may do the same work.
func (c *restClients) find(gvk schema.GroupVersionKind, e encoding) (*resourceMeta, error) {
	key := resourceKey{gvk, e}
	c.mu.RLock()
	found := c.known[key]
	c.mu.RUnlock()
	if found != nil {
		return found, nil
	}
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	connection, err := e.connect(gvk, c.config, c.codecs, c.httpClient)
	if err != nil {
		return nil, fmt.Errorf("connect to the resources of %s: %w", gvk.GroupVersion(), err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if found = c.known[key]; found == nil {
		found = &resourceMeta{Interface: connection, gvk: gvk, mapping: mapping, encoding: e}
		c.known[key] = found
	}
	return found, nil
}
