package client

import (
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
