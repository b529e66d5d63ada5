package cache_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// The tests of this package run in a synctest bubble, with an API server that is in memory: time passes when
// everybody waits, and a goroutine that is left at the end fails the test.

var (
	widgetKind = schema.GroupVersionKind{Group: "shop.example.com", Version: "v1", Kind: "Widget"}
	widgets    = widgetKind.GroupVersion().WithResource("widgets")
	widgetHere = fakeapi.Kind{Group: "shop.example.com", Version: "v1", Kind: "Widget"}
)

// world is a server and a cache of it. Requests of the cache have a user agent of their own.
type world struct {
	t      *testing.T
	server *fakeapi.Server
	live   *kubernetes.Clientset
	free   dynamic.Interface
	cache.Cache
	stop  context.CancelFunc
	ended chan error // Start's answer

	hasIndex bool // for the seeds
}

// inWorld runs a test in a bubble, with a cache that was made and not started.
func inWorld(t *testing.T, options cache.Options, test func(t *testing.T, w *world)) {
	t.Helper()
	inServer(t, func(t *testing.T, s *fakeapi.Server) { test(t, newWorld(t, s, options)) })
}

func inServer(t *testing.T, test func(t *testing.T, s *fakeapi.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{Kinds: []fakeapi.Kind{widgetHere}})
		defer server.Close()
		test(t, server)
	})
}

func newWorld(t *testing.T, server *fakeapi.Server, options cache.Options) *world {
	t.Helper()
	w := &world{t: t, server: server}
	var err error
	w.live, err = kubernetes.NewForConfig(server.Config())
	require.NoError(t, err)
	w.free, err = dynamic.NewForConfig(server.Config())
	require.NoError(t, err)
	config := server.Config()
	config.UserAgent = "the-cache"
	w.Cache, err = cache.New(config, options)
	require.NoError(t, err)
	return w
}

// begin starts the cache. The test must end it.
func (w *world) begin() {
	ctx, stop := context.WithCancel(context.Background())
	w.stop, w.ended = stop, make(chan error, 1)
	go func() { w.ended <- w.Start(ctx) }()
	synctest.Wait()
}

func (w *world) end() {
	w.t.Helper()
	w.stop()
	require.NoError(w.t, <-w.ended)
}

// requests are those of the cache for a resource: "list in shop", for instance, without those that repeat
// one.
func (w *world) requests(resource string) []string {
	var found []string
	for _, r := range w.server.Requests(fakeapi.Match{Resource: resource, UserAgent: "the-cache"}) {
		where := r.Verb
		if r.Namespace != "" {
			where += " in " + r.Namespace
		}
		if selector := r.Query.Get("labelSelector"); selector != "" {
			where += " label " + selector
		}
		if selector := r.Query.Get("fieldSelector"); selector != "" {
			where += " field " + selector
		}
		if !slices.Contains(found, where) {
			found = append(found, where)
		}
	}
	slices.Sort(found)
	return found
}

// watches is how many watches the cache has opened for a resource.
func (w *world) watches(resource string) int {
	return len(w.server.Requests(fakeapi.Match{Verb: "watch", Resource: resource, UserAgent: "the-cache"}))
}

func (w *world) namespaces(names ...string) {
	w.t.Helper()
	for _, name := range names {
		_, err := w.live.CoreV1().Namespaces().Create(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(w.t, err)
	}
}

// settings makes ConfigMaps with these names.
func (w *world) configMaps(namespace string, names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	}
}

func (w *world) create(object *corev1.ConfigMap) *corev1.ConfigMap {
	w.t.Helper()
	made, err := w.live.CoreV1().ConfigMaps(object.Namespace).Create(w.t.Context(), object, metav1.CreateOptions{})
	require.NoError(w.t, err)
	return made
}

func (w *world) update(object *corev1.ConfigMap) *corev1.ConfigMap {
	w.t.Helper()
	made, err := w.live.CoreV1().ConfigMaps(object.Namespace).Update(w.t.Context(), object, metav1.UpdateOptions{})
	require.NoError(w.t, err)
	return made
}

func (w *world) delete(namespace, name string) {
	w.t.Helper()
	require.NoError(w.t, w.live.CoreV1().ConfigMaps(namespace).Delete(w.t.Context(), name, metav1.DeleteOptions{}))
}

// widget makes a custom resource.
func (w *world) widget(namespace, name string, fields map[string]any) {
	w.t.Helper()
	_, err := w.free.Resource(widgets).Namespace(namespace).Create(w.t.Context(), widget(namespace, name, fields), metav1.CreateOptions{})
	require.NoError(w.t, err)
}

func widget(namespace, name string, fields map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	for key, value := range fields {
		object.Object[key] = value
	}
	object.SetGroupVersionKind(widgetKind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// listed are the names of ConfigMaps that a typed list has, sorted.
func (w *world) listed(opts ...client.ListOption) []string {
	w.t.Helper()
	var list corev1.ConfigMapList
	require.NoError(w.t, w.List(w.t.Context(), &list, opts...))
	return names(w.t, &list)
}

// names are "namespace/name" of a list's items, sorted.
func names(t *testing.T, list runtime.Object) []string {
	t.Helper()
	found := []string{}
	require.NoError(t, meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		found = append(found, fmt.Sprintf("%s/%s", object.GetNamespace(), object.GetName()))
		return err
	}))
	slices.Sort(found)
	return found
}

func key(namespace, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: name}
}

func metadataOf(gvk schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(gvk)
	return object
}

func metadataListOf(gvk schema.GroupVersionKind) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	return list
}

func freeOf(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	return object
}

func freeListOf(gvk schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	return list
}

var configMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")

// hearing is a handler that writes down what it is told.
type hearing struct {
	mu   sync.Mutex // guards told
	told []string
}

func newHearing() *hearing { return &hearing{} }

func (h *hearing) write(what string, object any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	named := object.(client.Object)
	h.told = append(h.told, fmt.Sprintf("%s %T %s/%s", what, object, named.GetNamespace(), named.GetName()))
}

func (h *hearing) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.told)
}

// sorted is for handlers that several informers tell something.
func (h *hearing) sorted() []string {
	all := h.all()
	slices.Sort(all)
	return all
}

func (h *hearing) OnAdd(object any, initial bool) {
	if initial {
		h.write("initial", object)
	} else {
		h.write("add", object)
	}
}

func (h *hearing) OnUpdate(old, object any) {
	if old == object {
		h.write("resync", object)
	} else {
		_ = old.(client.Object)
		h.write("update", object)
	}
}

func (h *hearing) OnDelete(object any) {
	if lost, ok := object.(informer.DeletedFinalStateUnknown); ok {
		h.write("lost "+lost.Key, lost.Obj)
	} else {
		h.write("delete", object)
	}
}
