package fake

import (
	"fmt"
	"net/http"
	"slices"
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

// built counts the clients of a process. Each has different random numbers, because an object with
// a UID from one client may be put into another.
var built atomic.Uint64

// Build returns the client. Call it only once.
func (f *ClientBuilder) Build() client.WithWatch {
	if f.isBuilt {
		panic("fake: Build was called before: make a new builder for another client")
	}
	f.isBuilt = true
	if f.scheme == nil {
		f.scheme = scheme.Scheme
	}
	c, err := f.build()
	if err != nil {
		panic(fmt.Sprintf("fake: %v", err))
	}
	if f.interceptors != nil {
		return interceptor.NewClient(c, *f.interceptors)
	}
	return c
}

func (f *ClientBuilder) build() (client.WithWatch, error) {
	if f.likeOriginal {
		return f.buildLike()
	}
	server := fakeapi.New(fakeapi.Options{
		Seed:               built.Add(1),
		HideManagedFields:  !f.returnManagedFields,
		TypeConverters:     f.typeConverters,
		NoLog:              true,
		AnyNamespace:       true,
		FinalizeNamespaces: true,
	})
	known := newKinds(server, f.scheme, f.mapper)
	for _, obj := range f.withStatus {
		gvk, err := apiutil.GVKForObject(obj, f.scheme)
		if err != nil {
			return nil, fmt.Errorf("WithStatusSubresource: %w", err)
		}
		known.withStatus[gvk] = true
	}
	for _, obj := range f.all() {
		if err := load(server, known, obj); err != nil {
			return nil, err
		}
	}
	// The host is in the text of some errors.
	config := &rest.Config{Host: "http://fake", QPS: -1}
	live, err := client.NewWithWatch(config, client.Options{
		HTTPClient: &http.Client{Transport: server.Transport()}, Scheme: f.scheme, Mapper: known,
	})
	c := &fakeClient{WithWatch: live, kinds: known, mapper: f.mapper, indexes: &f.indexes}
	if c.mapper == nil {
		c.mapper = known
	}
	return c, err
}

// all returns the builder's objects and lists, in the order in which they're added.
func (f *ClientBuilder) all() []runtime.Object { return slices.Concat(f.objects, f.lists, f.others) }

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
	// Objects that several tests share aren't written twice.
	if m.GetResourceVersion() == "" {
		m.SetResourceVersion(stored.GetResourceVersion())
	}
	if m.GetUID() == "" {
		m.SetUID(stored.GetUID())
	}
	return nil
}
