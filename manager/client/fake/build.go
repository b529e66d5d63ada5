package fake

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/manager/client/interceptor"
)

// built counts the clients of a process. No two have the same random numbers, because an object
// with the UID that one has given it may be put into another.
var built atomic.Uint64

// Build returns the client. It can be called once.
func (f *ClientBuilder) Build() client.WithWatch {
	if f.isBuilt {
		panic("fake: Build was called before: make a new builder for another client")
	}
	f.isBuilt = true
	c, err := f.build()
	if err != nil {
		panic(fmt.Sprintf("fake: %v", err))
	}
	if f.interceptors != nil {
		return interceptor.NewClient(c, *f.interceptors)
	}
	return c
}

func (f *ClientBuilder) build() (*fakeClient, error) {
	if f.scheme == nil {
		f.scheme = scheme.Scheme
	}
	server := fakeapi.New(fakeapi.Options{
		Seed:               built.Add(1),
		HideManagedFields:  !f.returnManagedFields,
		TypeConverters:     f.typeConverters,
		Loose:              f.likeOriginal,
		OwnVersions:        f.likeOriginal && !f.oneCounter,
		NoLog:              true,
		AnyNamespace:       true,
		FinalizeNamespaces: !f.likeOriginal,
	})
	known := newKinds(server, f.scheme, f.mapper)
	for _, obj := range f.withStatus {
		gvk, err := apiutil.GVKForObject(obj, f.scheme)
		if err != nil {
			return nil, fmt.Errorf("WithStatusSubresource: %w", err)
		}
		known.withStatus[gvk] = true
	}
	for _, obj := range f.objects {
		if err := load(server, known, obj); err != nil {
			return nil, err
		}
	}
	// The host is in the text of some errors.
	config := &rest.Config{Host: "http://fake", QPS: -1}
	if f.likeOriginal {
		// which tells empty lists from none; protobuf does not
		config.ContentType = runtime.ContentTypeJSON
	}
	live := func(mapper meta.RESTMapper) (client.WithWatch, error) {
		return client.NewWithWatch(config, client.Options{
			HTTPClient: &http.Client{Transport: server.Transport()}, Scheme: f.scheme,
			Mapper: mapper,
		})
	}
	c := &fakeClient{kinds: known, mapper: f.mapper, indexes: &f.indexes}
	if c.mapper == nil {
		c.mapper = known
	}
	var err error
	if !f.likeOriginal {
		c.WithWatch, err = live(known)
		return c, err
	}
	if c.WithWatch, err = live(inScope{known, meta.RESTScopeNamespace}); err != nil {
		return nil, err
	}
	c.loose, err = live(inScope{known, meta.RESTScopeRoot})
	return c, err
}

// load puts an object, or the items of a list, into the cluster.
func load(server *fakeapi.Server, known *kinds, obj runtime.Object) error {
	if meta.IsListType(obj) {
		items, err := meta.ExtractList(obj)
		if err != nil {
			return fmt.Errorf("take a %T apart: %w", obj, err)
		}
		for _, item := range items {
			if err := load(server, known, item); err != nil {
				return err
			}
		}
		return nil
	}
	gvk, err := apiutil.GVKForObject(obj, known.scheme)
	if err != nil {
		return err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Errorf("put a %T into the cluster: %w", obj, err)
	}
	k := known.meet(gvk, m.GetNamespace(), true)
	// the Go type counts, as for a client
	if said := obj.GetObjectKind().GroupVersionKind(); !said.Empty() && said != gvk {
		obj = obj.DeepCopyObject()
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	stored, err := server.Load(k.gvr(), obj)
	if err != nil {
		return err
	}
	// Objects that several tests share are not written twice.
	if m.GetResourceVersion() == "" {
		m.SetResourceVersion(stored.GetResourceVersion())
	}
	if m.GetUID() == "" {
		m.SetUID(stored.GetUID())
	}
	return nil
}
