package client

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
)

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
