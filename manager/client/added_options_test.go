package client

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
)

// queries are what the calls say in their URLs, or in the body of a delete.
func (w *world) queries() (out []string) {
	for _, request := range w.wire.requests() {
		words := strings.Fields(request)
		uri, err := url.Parse(words[1])
		require.NoError(w, err)
		query := uri.Query().Encode()
		if strings.Contains(request, `"dryRun":["All"]`) {
			query += "dryRun in body"
		}
		out = append(out, words[0]+" "+query)
	}
	return out
}

// callAll makes one call of each kind: reads, writes, and those of subresources. The options are
// what a call itself asks for.
func callAll(w *world, c Client) {
	ctx := w.Context()
	// Dry runs have to work, too, so that what is changed must be there.
	w.mustCreate(configMap("a"), deployment("web"), pod("p"), widget("w"))
	merge := RawPatch(types.MergePatchType, []byte(`{}`))
	require.NoError(w, c.Get(ctx, shopKey("a"), &corev1.ConfigMap{}))
	require.NoError(w, c.List(ctx, &corev1.ConfigMapList{}))
	require.NoError(w, c.Create(ctx, configMap("b")))
	require.NoError(w, c.Update(ctx, configMap("a")))
	require.NoError(w, c.Patch(ctx, configMap("a"), merge))
	require.NoError(w, c.Apply(ctx, coreapply.ConfigMap("c", "shop"), FieldOwner("call")))
	require.NoError(w, c.Status().Update(ctx, deployment("web")))
	require.NoError(w, c.Status().Patch(ctx, deployment("web"), merge))
	require.NoError(w, c.Status().Apply(ctx, appsapply.Deployment("web", "shop"), FieldOwner("call")))
	require.NoError(w, c.SubResource("scale").Get(ctx, deployment("web"), &autoscalingv1.Scale{}))
	require.NoError(w, c.SubResource("eviction").Create(ctx, pod("p"), &policyv1.Eviction{}))
	require.NoError(w, c.Delete(ctx, widget("w")))
	require.NoError(w, c.DeleteAllOf(ctx, widget(""), InNamespace("shop")))
}

func TestADryRunClientChangesNothing(t *testing.T) {
	yes := true
	for _, made := range []func(*world) Client{
		func(w *world) Client { return NewDryRunClient(w) },
		func(w *world) Client {
			config := w.server.Config()
			config.Transport = w.wire
			c, err := New(config, Options{DryRun: &yes})
			require.NoError(w, err)
			return c
		},
	} {
		inWorld(t, Options{}, func(w *world) {
			c := made(w)
			callAll(w, c)
			require.Equal(w, []string{
				"GET ", "GET ", "POST dryRun=All", "PUT dryRun=All", "PATCH dryRun=All", "PATCH dryRun=All&fieldManager=call",
				"PUT dryRun=All", "PATCH dryRun=All", "PATCH dryRun=All&fieldManager=call", "GET ", "POST dryRun=All",
				"DELETE dryRun in body", "DELETE dryRun in body",
			}, w.queries())
			require.Error(w, w.Get(w.Context(), shopKey("b"), &corev1.ConfigMap{}), "it must not have been created")
			require.NoError(w, w.Get(w.Context(), shopKey("w"), widget("")), "it must not have been deleted")
			require.NoError(w, c.Create(w.Context(), configMap("d"), &CreateOptions{DryRun: []string{}}))
			require.Error(w, w.Get(w.Context(), shopKey("d"), &corev1.ConfigMap{}), "a call cannot ask for a real write")
		})
	}
}

func TestAFieldOwnerIsOnAllWritesButDeletes(t *testing.T) {
	inWorld(t, Options{FieldOwner: "options"}, func(w *world) {
		callAll(w, w.WithWatch)
		require.Equal(w, []string{
			"GET ", "GET ", "POST fieldManager=options", "PUT fieldManager=options", "PATCH fieldManager=options", "PATCH fieldManager=call",
			"PUT fieldManager=options", "PATCH fieldManager=options", "PATCH fieldManager=call", "GET ", "POST fieldManager=options", "DELETE ", "DELETE ",
		}, w.queries(), "and a call may have another one")
		require.NoError(w, WithFieldOwner(w, "wrapped").Create(w.Context(), configMap("x")))
		require.NoError(w, WithFieldOwner(w, "wrapped").Apply(w.Context(), coreapply.ConfigMap("x", "shop"), ForceOwnership))
		require.NoError(w, WithFieldOwner(w, "wrapped").Status().Apply(w.Context(), appsapply.Deployment("web", "shop"), ForceOwnership))
		require.Equal(w, []string{"POST fieldManager=wrapped", "PATCH fieldManager=wrapped&force=true", "PATCH fieldManager=wrapped&force=true"}, w.queries(),
			"the wrapper stands in front of the one inside")
	})
}

func TestAFieldValidationIsOnAllWritesButAppliesAndDeletes(t *testing.T) {
	inWorld(t, Options{FieldValidation: "Strict"}, func(w *world) {
		callAll(w, w.WithWatch)
		require.Equal(w, []string{
			"GET ", "GET ", "POST fieldValidation=Strict", "PUT fieldValidation=Strict", "PATCH fieldValidation=Strict", "PATCH fieldManager=call",
			"PUT fieldValidation=Strict", "PATCH fieldValidation=Strict", "PATCH fieldManager=call", "GET ", "POST fieldValidation=Strict", "DELETE ", "DELETE ",
		}, w.queries())
		require.NoError(w, w.Create(w.Context(), configMap("x"), FieldValidation("Ignore")))
		require.NoError(w, WithFieldValidation(w, "Warn").Create(w.Context(), configMap("y")))
		require.Equal(w, []string{"POST fieldValidation=Ignore", "POST fieldValidation=Warn"}, w.queries(), "a call may ask for another one")
	})
}

// A slice of options with room for one more, shared by two goroutines, would be written by both.
func TestTheCallersSliceOfOptionsStaysAsItIs(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		room := make([]CreateOption, 0, 4)
		require.NoError(w, NewDryRunClient(w).Create(w.Context(), configMap("a"), room...))
		require.Nil(w, room[:1][0])
		lists := make([]ListOption, 0, 4)
		require.NoError(w, NewNamespacedClient(w, "shop").List(w.Context(), &corev1.ConfigMapList{}, lists...))
		require.Nil(w, lists[:1][0])
		deletes := make([]DeleteAllOfOption, 0, 4)
		require.NoError(w, NewNamespacedClient(w, "shop").DeleteAllOf(w.Context(), &corev1.ConfigMap{}, deletes...))
		require.Nil(w, deletes[:1][0])
	})
}

func TestAWrapperPassesOnWhatItDoesNotChange(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		for _, c := range []Client{NewDryRunClient(w), WithFieldOwner(w, "me"), WithFieldValidation(w, "Warn"), NewNamespacedClient(w, "shop")} {
			require.Same(w, w.Scheme(), c.Scheme())
			require.Equal(w, w.RESTMapper(), c.RESTMapper())
			gvk, err := c.GroupVersionKindFor(&appsv1.Deployment{})
			require.NoError(w, err)
			require.Equal(w, "Deployment", gvk.Kind)
			namespaced, err := c.IsObjectNamespaced(&appsv1.Deployment{})
			require.NoError(w, err)
			require.True(w, namespaced)
		}
	})
}
