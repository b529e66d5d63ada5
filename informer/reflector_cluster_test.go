package informer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/cluster/clustertest"
)

func realWorld(t *testing.T) world {
	return newWorld(t, clustertest.Config(t), clustertest.Namespace(t))
}

// eventually waits on a real clock, where there is nothing to be woken by.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	require.Eventually(t, done, time.Minute, 20*time.Millisecond, what)
}

// An API server that is updated is away for seconds. Its clients must come back
// by themselves, with what happened meanwhile, and without a gap.
func TestAnAPIServerThatRestartsCostsNoEvent(t *testing.T) {
	w := realWorld(t)
	for i := range 300 {
		w.create(t, fmt.Sprintf("object-%03d", i), nil)
	}
	r := runReflector(t, w, ReflectorOptions{})
	r.view.until(t, func(v *view) bool { return len(v.objects) == 300 })
	for round := range 2 {
		w.change(t, "object-000", round)
		require.NoError(t, clustertest.Shared(t).Restart(t.Context(), cluster.APIServer, time.Second))
		w.change(t, "object-001", round)
		w.delete(t, fmt.Sprintf("object-%03d", 100+round))
		want := fmt.Sprint(round)
		r.view.until(t, func(v *view) bool {
			return len(v.objects) == 299-round && v.objects["object-001"].Data["value"] == want
		})
	}
	require.NoError(t, r.Health().Ready(time.Now(), time.Minute))
	r.legal(t)
}

// gated holds watches back while the gate is shut.
type gated struct {
	ListerWatcher[*corev1.ConfigMap]
	mu   sync.Mutex // guards both
	shut bool
	open []Watch[*corev1.ConfigMap]
}

func (g *gated) Watch(
	ctx context.Context, options metav1.ListOptions,
) (Watch[*corev1.ConfigMap], error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return nil, errors.New("the gate is shut")
	}
	opened, err := g.ListerWatcher.Watch(ctx, options)
	if err == nil {
		g.open = append(g.open, opened)
	}
	return opened, err
}

func (g *gated) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	for _, opened := range g.open {
		_ = opened.Close()
	}
	g.open = nil
}

// expirations counts how often a server said that the history is gone.
type expirations struct{ atomic.Int64 }

// note is a ReflectorOptions.GiveUp: it hears of every error.
func (e *expirations) note(err error) bool {
	if isExpired(err) {
		e.Add(1)
	}
	return false
}

// etcd has compacted, the API server has a new memory, and the reflector was away
// all the time: nobody knows what happened since.
func TestAfterACompactionTheViewIsWholeAgain(t *testing.T) {
	w := realWorld(t)
	w.create(t, "apple", nil)
	w.create(t, "banana", nil)
	from := &gated{ListerWatcher: w.listWatch(t, ListWatchOptions{})}
	var expired expirations
	r := &reflecting{view: newView()}
	r.Reflector = NewReflector(ListerWatcher[*corev1.ConfigMap](from), Sink[*corev1.ConfigMap](r.view),
		ReflectorOptions{Backoff: Backoff{Most: 2 * time.Second}, GiveUp: expired.note})
	r.start(t)
	r.view.untilIsThere(t, "apple", "banana")
	from.set(true)
	w.delete(t, "banana")
	w.create(t, "cherry", nil)
	_, err := clustertest.Shared(t).Compact(t.Context())
	require.NoError(t, err)
	require.NoError(t, clustertest.Shared(t).Restart(t.Context(), cluster.APIServer, 0))
	from.set(false)
	r.view.untilIsThere(t, "apple", "cherry")
	require.Equal(t, 2, r.view.replaces, "only a list can tell that the banana is gone")
	require.Positive(t, expired.Load(), "the server must have said that the history is gone: %+v",
		r.Health())
	r.legal(t)
}

// A team that forgot a rule must read which one, not "not synced".
func TestAClientWithoutRightsIsToldWhichRuleIsMissing(t *testing.T) {
	w := realWorld(t)
	w.create(t, "apple", nil)
	config := clustertest.Config(t)
	config.Impersonate.UserName = "reader-of-" + w.namespace
	poor := w
	poor.config = config
	r := runReflector(t, poor, ReflectorOptions{Backoff: Backoff{Most: time.Second}})
	var refused *RefusedError
	eventually(t, "it must be refused", func() bool {
		return errors.As(r.Health().LastError, &refused)
	})
	require.Equal(t, Forbidden, refused.Reason)
	require.ErrorContains(t, refused, "may not watch configmaps in namespace "+w.namespace)
	require.ErrorContains(t, refused,
		`{apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch"]}`)

	// Do as the error says.
	rbac := clustertest.Client(t).RbacV1()
	_, err := rbac.Roles(w.namespace).Create(t.Context(),
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "reader"},
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"},
				Verbs: []string{"list", "watch"}}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = rbac.RoleBindings(w.namespace).Create(t.Context(),
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "reader"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName,
				Name: config.Impersonate.UserName}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"}},
		metav1.CreateOptions{})
	require.NoError(t, err)
	r.view.untilIsThere(t, "apple")
}

// names is a Sink for any kind.
type names[T Object] struct {
	mu  sync.Mutex // guards all
	all map[string]bool
}

func (n *names[T]) Replace(items []T, _ string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = map[string]bool{}
	for _, item := range items {
		n.all[item.GetName()] = true
	}
}

func (n *names[T]) Apply(event Event[T]) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if event.Type == watch.Deleted {
		delete(n.all, event.Object.GetName())
	} else {
		n.all[event.Object.GetName()] = true
	}
}

func (n *names[T]) Progress(string) {}

func (n *names[T]) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.all)
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
	Resource: "customresourcedefinitions"}

// widgets is a kind of a CustomResourceDefinition that comes and goes.
type widgets struct {
	t         *testing.T
	client    dynamic.Interface
	namespace string
	resource  schema.GroupVersionResource
}

func newWidgets(t *testing.T, group string) *widgets {
	client, err := dynamic.NewForConfig(clustertest.Config(t))
	require.NoError(t, err)
	return &widgets{t: t, client: client, namespace: clustertest.Namespace(t),
		resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: "widgets"}}
}

func (w *widgets) install() {
	w.t.Helper()
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{
			"name": w.resource.GroupResource().String(), "finalizers": []any{untilSeen},
		},
		"spec": map[string]any{
			"group": w.resource.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": "widgets", "singular": "widget", "kind": "Widget"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
		},
	}}
	// not while the old one is being deleted
	eventually(w.t, "the kind must be installed", func() bool {
		_, err := w.client.Resource(definitions).Create(w.t.Context(), definition, metav1.CreateOptions{})
		return err == nil
	})
}

// untilSeen is a finalizer that keeps a kind until a test has seen that its objects are gone. The API
// server deletes these first, but closes the watches about a second after the kind
// (apiextensions-apiserver v0.36.3, customresource_handler.go, tearDown). On a slow machine they may
// not have shown the deletions by then.
const untilSeen = "example.com/until-seen"

// uninstall deletes the kind. isSeen says whether the test has seen that the objects are gone; nil
// doesn't wait for that.
func (w *widgets) uninstall(isSeen func() bool) {
	w.t.Helper()
	of, name := w.client.Resource(definitions), w.resource.GroupResource().String()
	require.NoError(w.t, of.Delete(context.Background(), name, metav1.DeleteOptions{}))
	if isSeen != nil {
		eventually(w.t, "the widgets go with their kind", isSeen)
	}
	eventually(w.t, "the kind must go", func() bool {
		definition, err := of.Get(context.Background(), name, metav1.GetOptions{})
		if err == nil {
			left := slices.DeleteFunc(definition.GetFinalizers(),
				func(finalizer string) bool { return finalizer == untilSeen })
			definition.SetFinalizers(left)
			_, err = of.Update(context.Background(), definition, metav1.UpdateOptions{})
		}
		return err == nil || apierrors.IsNotFound(err)
	})
}

func (w *widgets) create(name string) {
	w.t.Helper()
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": w.resource.GroupVersion().String(), "kind": "Widget",
		"metadata": map[string]any{"name": name}}}
	eventually(w.t, "the kind must be served", func() bool {
		_, err := w.client.Resource(w.resource).Namespace(w.namespace).Create(w.t.Context(), widget,
			metav1.CreateOptions{})
		return err == nil
	})
}

// listWatch reads the widgets' metadata.
func (w *widgets) listWatch() ListerWatcher[*metav1.PartialObjectMetadata] {
	w.t.Helper()
	kinds, version := runtime.NewScheme(), w.resource.GroupVersion()
	kinds.AddKnownTypeWithName(version.WithKind("Widget"), &metav1.PartialObjectMetadata{})
	kinds.AddKnownTypeWithName(version.WithKind("WidgetList"), &metav1.PartialObjectMetadataList{})
	metav1.AddToGroupVersion(kinds, version)
	listWatch, err := NewListWatch[*metav1.PartialObjectMetadata](clustertest.Config(w.t), w.resource,
		ListWatchOptions{Namespace: w.namespace, Scheme: kinds})
	require.NoError(w.t, err)
	return listWatch
}

// untilUnknown waits until the health names the kind as one that is not served.
func (w *widgets) untilUnknown(health func() Health) {
	w.t.Helper()
	var refused *RefusedError
	eventually(w.t, "the health must name the kind that is not served", func() bool {
		return errors.As(health().LastError, &refused) && refused.Reason == UnknownKind
	})
	require.Equal(w.t, w.resource, refused.Resource)
	require.ErrorContains(w.t, refused, "is its CustomResourceDefinition installed")
}

// Who uninstalls an operator deletes its CustomResourceDefinitions first. What
// watches them must neither crash nor believe in objects that are gone, and must
// go on when they are installed again.
func TestAKindThatIsDeletedAndInstalledAgainIsFollowed(t *testing.T) {
	kind := newWidgets(t, "reflector.example.com")
	kind.install()
	kind.create("first")
	kind.create("second")
	view := &names[*metav1.PartialObjectMetadata]{}
	r := NewReflector(kind.listWatch(), Sink[*metav1.PartialObjectMetadata](view),
		ReflectorOptions{Backoff: Backoff{Most: time.Second}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1) // Run's result
	go func() { done <- r.Run(ctx) }()
	eventually(t, "both must be seen", func() bool { return view.count() == 2 })

	kind.uninstall(func() bool { return view.count() == 0 })
	kind.untilUnknown(r.Health)

	kind.install()
	kind.create("third")
	eventually(t, "the new widgets must be seen", func() bool { return view.count() == 1 })
	cancel()
	require.NoError(t, <-done)
	kind.uninstall(nil)
}
