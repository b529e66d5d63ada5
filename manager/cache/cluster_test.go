package cache_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/manager/cache"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// What a real API server answers about a kind that it has lost decides whether we ever believe it.
func TestARealServersDeletedKindIsNoticedAndSoIsItsReturn(t *testing.T) {
	config, namespace := clustertest.Config(t), clustertest.Namespace(t)
	free, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	kind := schema.GroupVersionKind{Group: namespace + ".example.com", Version: "v1", Kind: "Widget"}
	definitions := free.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	objects := free.Resource(kind.GroupVersion().WithResource("widgets")).Namespace(namespace)
	object := func() *unstructured.Unstructured {
		made := freeOf(kind)
		made.SetNamespace(namespace)
		made.SetName("a")
		return made
	}
	eventually := func(what string, isSo func() bool) {
		t.Helper()
		require.Eventually(t, isSo, 5*time.Minute, 100*time.Millisecond, what)
	}
	install := func() {
		t.Helper()
		eventually("the CRD is created", func() bool {
			_, err := definitions.Create(t.Context(), definition(kind), metav1.CreateOptions{})
			return err == nil
		})
		eventually("the API server serves the kind", func() bool {
			_, err := objects.Create(t.Context(), object(), metav1.CreateOptions{})
			return err == nil
		})
	}
	remove := func() error { return definitions.Delete(t.Context(), "widgets."+kind.Group, metav1.DeleteOptions{}) }
	install()
	c, err := cache.New(config, cache.Options{})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1) // Start's answer
	go func() { ended <- c.Start(ctx) }()
	defer func() { stop(); require.NoError(t, <-ended) }()
	get := func() error { return c.Get(t.Context(), key(namespace, "a"), freeOf(kind)) }
	eventually("the cache has the kind", func() bool { return get() == nil })

	require.NoError(t, remove())
	var gone *cache.KindGoneError
	eventually("the cache knows that the kind is gone", func() bool { return errors.As(get(), &gone) })
	install()
	eventually("the cache knows that the kind is back", func() bool { return get() == nil })
	require.NoError(t, remove())
}

func definition(kind schema.GroupVersionKind) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": kind.Group, "scope": "Namespaced",
		"names": map[string]any{"plural": "widgets", "singular": "widget", "kind": kind.Kind, "listKind": kind.Kind + "List"},
		"versions": []any{map[string]any{
			"name": kind.Version, "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
		}},
	}}}
	made.SetAPIVersion("apiextensions.k8s.io/v1")
	made.SetKind("CustomResourceDefinition")
	made.SetName("widgets." + kind.Group)
	return made
}
