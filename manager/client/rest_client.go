package client

import (
	"fmt"
	"net/http"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/client/apiutil"
)

// target is where a request goes: a connection, and what stands in the path.
type target struct {
	*endpoint
	namespace, name, subResource string
}

// to completes a request to a collection: namespace and resource.
func (t target) to(request *rest.Request) *rest.Request {
	return request.NamespaceIfScoped(t.namespace, t.isNamespaced()).Resource(t.mapping.Resource.Resource)
}

// toObject completes a request to one object, or to a subresource of it. Without a name, or without a
// namespace where there must be one, it is an error and not sent. controller-runtime sends that about
// metadata, and the server says "not found", which to a reconciler means that the object was deleted.
func (t target) toObject(request *rest.Request) *rest.Request {
	request = t.to(request).Name(t.name)
	if t.subResource != "" {
		request = request.SubResource(t.subResource)
	}
	return request
}

// isNil reports whether there is no object, and so nothing that could be sent or filled in.
func isNil(obj any) bool {
	v := reflect.ValueOf(obj)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// mayPatch is an error for a patch, or an apply, without a namespace where there must be one. client-go, which refuses
// other requests by itself, sends these to a path that no server has, and the 404 says nothing about the reason.
func (t target) mayPatch(verb string) error {
	if t.isNamespaced() && t.namespace == "" {
		return fmt.Errorf("%s %s %q: its namespace is missing: set it, a %s is always in one", verb, t.gvk.Kind, t.name, t.gvk.Kind)
	}
	return nil
}

// endpoint is a kind in one form: it does not change.
type endpoint struct {
	rest.Interface
	gvk     schema.GroupVersionKind
	mapping *meta.RESTMapping
	form    form
}

func (e *endpoint) isNamespaced() bool { return e.mapping.Scope.Name() != meta.RESTScopeNameRoot }

// endpoints finds out where requests go, and remembers it.
type endpoints struct {
	config     *rest.Config
	httpClient *http.Client
	scheme     *runtime.Scheme
	mapper     meta.RESTMapper
	codecs     serializer.CodecFactory

	mu    sync.RWMutex // guards known
	known map[endpointKey]*endpoint
}

type endpointKey struct {
	gvk  schema.GroupVersionKind
	form form
}

// ofObject returns the target of requests about an object, or about a list's items.
func (e *endpoints) ofObject(obj runtime.Object) (target, error) {
	return e.inForm(obj, formOf(obj))
}

func (e *endpoints) inForm(obj runtime.Object, f form) (target, error) {
	gvk, err := apiutil.GVKForObject(obj, e.scheme)
	if err != nil {
		return target{}, err
	}
	found, err := e.find(itemKind(obj, gvk), f)
	if err != nil {
		return target{}, err
	}
	t := target{endpoint: found}
	if object, ok := obj.(Object); ok {
		t.namespace, t.name = object.GetNamespace(), object.GetName()
	}
	return t, nil
}

// ofApplied returns the target of a request that applies something.
func (e *endpoints) ofApplied(a applied) (target, error) {
	found, err := e.find(a.gvk, a.form)
	if err != nil {
		return target{}, err
	}
	return target{endpoint: found, namespace: a.key.Namespace, name: a.key.Name}, nil
}

// find does not hold the lock while it asks the server, so that requests for other kinds go on.
// Two callers may do the same work at first.
func (e *endpoints) find(gvk schema.GroupVersionKind, f form) (*endpoint, error) {
	key := endpointKey{gvk, f}
	e.mu.RLock()
	found := e.known[key]
	e.mu.RUnlock()
	if found != nil {
		return found, nil
	}
	mapping, err := e.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	connection, err := f.connect(gvk, e.config, e.codecs, e.httpClient)
	if err != nil {
		return nil, fmt.Errorf("connect to the resources of %s: %w", gvk.GroupVersion(), err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if found = e.known[key]; found == nil {
		found = &endpoint{Interface: connection, gvk: gvk, mapping: mapping, form: f}
		e.known[key] = found
	}
	return found, nil
}
