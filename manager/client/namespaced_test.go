package client

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
)

// eachCall are all calls about an object of a kind and a name, in some namespace or in none.
func eachCall(w *world, c Client, namespace string) []func() error {
	ctx := w.Context()
	merge := RawPatch(types.MergePatchType, []byte(`{}`))
	web := func() Object { d := deployment("web"); d.Namespace = namespace; return d }
	p := func() Object { p := pod("p"); p.Namespace = namespace; return p }
	u := func() Object { u := widget("w"); u.SetNamespace(namespace); return u }
	config, status := coreapply.ConfigMap("a", namespace), appsapply.Deployment("web", namespace)
	if namespace == "" {
		config.Namespace, status.Namespace = nil, nil
	}
	free := widget("applied")
	free.SetNamespace(namespace)
	return []func() error{
		func() error { return c.Get(ctx, ObjectKey{Namespace: namespace, Name: "web"}, web()) },
		func() error { return c.Update(ctx, web()) },
		func() error { return c.Patch(ctx, web(), merge) },
		func() error { return c.Apply(ctx, config, FieldOwner("me")) },
		func() error { return c.Apply(ctx, ApplyConfigurationFromUnstructured(free), FieldOwner("me")) },
		func() error { return c.Status().Update(ctx, web()) },
		func() error { return c.Status().Patch(ctx, web(), merge) },
		func() error { return c.Status().Apply(ctx, status, FieldOwner("me")) },
		func() error { return c.SubResource("scale").Get(ctx, web(), &autoscalingv1.Scale{}) },
		func() error {
			return c.SubResource("binding").Create(ctx, p(), &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "n"}})
		},
		func() error { return c.Delete(ctx, u()) },
		func() error { return c.Create(ctx, u()) },
	}
}

func TestAnObjectWithoutANamespaceGetsThatOfTheClient(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		for _, namespace := range []string{"", "shop"} {
			w.mustCreate(deployment("web"), pod("p"), widget("w"))
			for i, call := range eachCall(w, NewNamespacedClient(w, "shop"), namespace) {
				require.NoError(w, call(), "call %d", i)
			}
			for _, request := range w.wire.requests() {
				require.Contains(w, request, "/namespaces/shop/")
			}
			require.NoError(w, w.Delete(w.Context(), deployment("web")))
			require.NoError(w, w.Delete(w.Context(), pod("p"), GracePeriodSeconds(0)))
			require.NoError(w, w.Delete(w.Context(), widget("w")))
		}
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "made"}}
		require.NoError(w, NewNamespacedClient(w, "shop").Create(w.Context(), made))
		require.Equal(w, "shop", made.Namespace)
	})
}

func TestAnObjectOfAnotherNamespaceIsAnError(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		for i, call := range eachCall(w, NewNamespacedClient(w, "shop"), "other") {
			require.ErrorContains(w, call(), "this client is for namespace shop", "call %d", i)
		}
		require.Empty(w, w.wire.requests(), "the server must not have been asked")
	})
}

func TestListsAndDeletesOfManyStayInTheNamespace(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		require.NoError(w, w.Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}))
		stays := configMap("a")
		stays.Namespace = "other"
		w.mustCreate(configMap("a"), stays)
		c := NewNamespacedClient(w, "shop")
		for _, opts := range [][]ListOption{nil, {InNamespace("other")}} {
			var list corev1.ConfigMapList
			require.NoError(w, c.List(w.Context(), &list, opts...))
			require.Len(w, list.Items, 1)
			require.Equal(w, "shop", list.Items[0].Namespace)
		}
		require.NoError(w, c.DeleteAllOf(w.Context(), &corev1.ConfigMap{}, InNamespace("other")))
		require.NoError(w, w.Get(w.Context(), ObjectKeyFromObject(stays), stays), "it is in another namespace")
		require.Error(w, w.Get(w.Context(), shopKey("a"), &corev1.ConfigMap{}))
	})
}

func TestKindsThatAreInNoNamespaceAreAsBefore(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		c, ctx := NewNamespacedClient(w, "shop"), w.Context()
		node := func() *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}} }
		require.NoError(w, c.Create(ctx, node()))
		require.NoError(w, c.Get(ctx, ObjectKey{Name: "n"}, node()))
		require.NoError(w, c.Get(ctx, ObjectKey{Namespace: "ignored", Name: "n"}, node()))
		require.NoError(w, c.List(ctx, &corev1.NodeList{}))
		require.NoError(w, c.Apply(ctx, coreapply.Node("n"), FieldOwner("me")))
		require.NoError(w, c.Update(ctx, node()))
		require.NoError(w, c.DeleteAllOf(ctx, &corev1.Node{}))
		for _, request := range w.wire.requests() {
			require.NotContains(w, request, "/namespaces/")
		}
	})
}

func TestAClientCannotTellTheScopeOfAKindThatTheServerDoesNotHave(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		unknown := newUnstructured(schema.GroupVersionKind{Group: "nobody.example", Version: "v1", Kind: "Nothing"})
		c, ctx := NewNamespacedClient(w, "shop"), w.Context()
		for _, err := range []error{
			c.Get(ctx, shopKey("a"), unknown), c.Create(ctx, unknown), c.Delete(ctx, unknown), c.DeleteAllOf(ctx, unknown),
			c.List(ctx, listOf(unknown.GroupVersionKind())), c.Apply(ctx, ApplyConfigurationFromUnstructured(unknown)),
		} {
			require.True(w, meta.IsNoMatchError(err), "%v", err)
		}
		require.ErrorContains(w, c.Apply(ctx, notApplicable{}), "cannot be applied")
		require.ErrorContains(w, c.Apply(ctx, &withoutSetter{coreapply.ConfigMap("a", "")}), "no method WithNamespace(string)")
	})
}

// withoutSetter is a configuration that was not made by client-go's generator.
type withoutSetter struct {
	inner *coreapply.ConfigMapApplyConfiguration
}

func (withoutSetter) IsApplyConfiguration()    {}
func (s withoutSetter) GetName() *string       { return s.inner.GetName() }
func (s withoutSetter) GetNamespace() *string  { return nil }
func (s withoutSetter) GetKind() *string       { return s.inner.GetKind() }
func (s withoutSetter) GetAPIVersion() *string { return s.inner.GetAPIVersion() }

// stub answers everything with one error, and counts how often it is asked.
type stub struct {
	Client
	answer     error
	asked      int
	namespaced bool
	scopeErr   error // the answer to the question whether a kind is in namespaces
	mapper     meta.RESTMapper
	read       ObjectKey
	listed     ListOptions
}

func (s *stub) is() error { s.asked++; return s.answer }

func (s *stub) IsObjectNamespaced(runtime.Object) (bool, error) { return s.namespaced, s.scopeErr }

func (s *stub) RESTMapper() meta.RESTMapper { return s.mapper }

func (s *stub) Get(_ context.Context, key ObjectKey, _ Object, _ ...GetOption) error {
	s.read = key
	return s.is()
}
func (s *stub) List(_ context.Context, _ ObjectList, opts ...ListOption) error {
	s.listed = *(&ListOptions{}).ApplyOptions(opts)
	return s.is()
}
func (s *stub) Create(context.Context, Object, ...CreateOption) error      { return s.is() }
func (s *stub) Update(context.Context, Object, ...UpdateOption) error      { return s.is() }
func (s *stub) Patch(context.Context, Object, Patch, ...PatchOption) error { return s.is() }
func (s *stub) Apply(context.Context, runtime.ApplyConfiguration, ...ApplyOption) error {
	return s.is()
}
func (s *stub) Delete(context.Context, Object, ...DeleteOption) error { return s.is() }
func (s *stub) DeleteAllOf(_ context.Context, _ Object, opts ...DeleteAllOfOption) error {
	s.listed = (&DeleteAllOfOptions{}).ApplyOptions(opts).ListOptions
	return s.is()
}
func (s *stub) SubResource(string) SubResourceClient { return stubSubResource{s} }

type stubSubResource struct{ stub *stub }

func (s stubSubResource) Get(context.Context, Object, Object, ...SubResourceGetOption) error {
	return s.stub.is()
}
func (s stubSubResource) Create(context.Context, Object, Object, ...SubResourceCreateOption) error {
	return s.stub.is()
}
func (s stubSubResource) Update(context.Context, Object, ...SubResourceUpdateOption) error {
	return s.stub.is()
}
func (s stubSubResource) Patch(context.Context, Object, Patch, ...SubResourcePatchOption) error {
	return s.stub.is()
}
func (s stubSubResource) Apply(context.Context, runtime.ApplyConfiguration, ...SubResourceApplyOption) error {
	return s.stub.is()
}

// callsOf are all calls of a client, each once, and each about an object without a namespace.
func callsOf(ctx context.Context, c Client) map[string]error {
	merge, obj := RawPatch(types.MergePatchType, []byte(`{}`)), func() Object { return &corev1.Pod{} }
	unnamed := func() *coreapply.PodApplyConfiguration { p := coreapply.Pod("p", ""); p.Namespace = nil; return p }
	return map[string]error{
		"get": c.Get(ctx, ObjectKey{Name: "p"}, obj()), "list": c.List(ctx, &corev1.PodList{}),
		"create": c.Create(ctx, obj()), "update": c.Update(ctx, obj()), "patch": c.Patch(ctx, obj(), merge),
		"apply": c.Apply(ctx, unnamed()), "delete": c.Delete(ctx, obj()), "delete all": c.DeleteAllOf(ctx, obj()),
		"sub get": c.SubResource("x").Get(ctx, obj(), obj()), "sub create": c.SubResource("x").Create(ctx, obj(), obj()),
		"sub update": c.SubResource("x").Update(ctx, obj()), "sub patch": c.SubResource("x").Patch(ctx, obj(), merge),
		"sub apply": c.SubResource("x").Apply(ctx, unnamed()),
	}
}

func podMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	return mapper
}

// A refusal that got lost would be a write that nobody made.
func TestAClientOfOneNamespacePassesOnWhatTheCallsReturn(t *testing.T) {
	refused := errors.New("refused")
	below := &stub{answer: refused, namespaced: true, mapper: podMapper()}
	calls := callsOf(t.Context(), NewNamespacedClient(below, "shop"))
	for name, err := range calls {
		require.ErrorIs(t, err, refused, name)
	}
	require.Equal(t, len(calls), below.asked, "each call is passed on once")
}

// A write to some namespace, because nobody knew whether the kind is in one, may hit what belongs to others.
func TestAClientOfOneNamespaceAsksNothingIfItCannotTellTheScope(t *testing.T) {
	unsure := errors.New("nobody knows")
	below := &stub{scopeErr: unsure, mapper: meta.NewDefaultRESTMapper(nil)}
	for name, err := range callsOf(t.Context(), NewNamespacedClient(below, "shop")) {
		if name == "apply" || name == "sub apply" {
			require.True(t, meta.IsNoMatchError(err), "%s: %v", name, err)
			continue
		}
		require.ErrorIs(t, err, unsure, name)
	}
	require.ErrorContains(t, NewNamespacedClient(below, "shop").Apply(t.Context(), notApplicable{}), "cannot be applied")
	require.Zero(t, below.asked)
	obj := &corev1.Pod{}
	below.namespaced = true
	require.ErrorIs(t, NewNamespacedClient(below, "shop").Create(t.Context(), obj), unsure)
	require.Empty(t, obj.Namespace, "what was refused is as it was")
}

func TestWhatIsInNoNamespaceIsNotAskedForInOne(t *testing.T) {
	below := &stub{}
	c := NewNamespacedClient(below, "shop")
	require.NoError(t, c.Get(t.Context(), ObjectKey{Name: "n"}, &corev1.Node{}))
	require.Equal(t, ObjectKey{Name: "n"}, below.read)
	require.NoError(t, c.List(t.Context(), &corev1.NodeList{}))
	require.Empty(t, below.listed.Namespace)
	require.NoError(t, c.DeleteAllOf(t.Context(), &corev1.Node{}))
	require.Empty(t, below.listed.Namespace)
	below.namespaced = true
	require.NoError(t, NewNamespacedClient(below, "").List(t.Context(), &corev1.PodList{}, InNamespace("other")))
	require.Equal(t, "other", below.listed.Namespace, "a client of no namespace overrules nothing in a list")
}

// withOther has a method of the right name that takes something else.
type withOther[T any] struct {
	*appsapply.DeploymentApplyConfiguration
}

func (withOther[T]) WithNamespace(T) {}

type withNothing struct {
	*appsapply.DeploymentApplyConfiguration
}

func (withNothing) WithNamespace() {}

// Such a configuration was written by hand, and a panic of reflect says nothing to its author.
func TestAMethodThatTakesSomethingElsePutsNothingIntoANamespace(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	c := NewNamespacedClient(&stub{mapper: mapper}, "shop")
	bare := appsapply.Deployment("web", "")
	bare.Namespace = nil
	for _, config := range []runtime.ApplyConfiguration{withOther[int]{bare}, withNothing{bare}} {
		require.ErrorContains(t, c.Apply(t.Context(), config), "no method WithNamespace(string)", "%T", config)
	}
	require.NoError(t, c.Apply(t.Context(), bare))
	require.Equal(t, "shop", *bare.Namespace)
}
