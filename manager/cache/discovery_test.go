package cache

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// Whoever takes another kind of the group, or a subresource, for the kind moves an informer to where nothing is.
func TestDiscoveryIsAskedForTheKindAndNotForItsNeighbours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := schema.GroupVersion{Group: "shop.example.com", Version: "v1"}
		server := fakeapi.New(fakeapi.Options{Kinds: []fakeapi.Kind{
			{Group: shop.Group, Version: shop.Version, Kind: "Widget"}, {Group: shop.Group, Version: shop.Version, Kind: "Gadget"}, {Group: shop.Group, Version: shop.Version, Kind: "Apple"},
		}})
		defer server.Close()
		made, err := New(server.Config(), Options{})
		require.NoError(t, err)
		c := made.(*objectCache)
		at := func(kind schema.GroupVersionKind, resource string, namespaced bool) *meta.RESTMapping {
			mapping := &meta.RESTMapping{GroupVersionKind: kind, Resource: kind.GroupVersion().WithResource(resource), Scope: meta.RESTScopeRoot}
			if namespaced {
				mapping.Scope = meta.RESTScopeNamespace
			}
			return mapping
		}
		apps := schema.GroupVersion{Group: "apps", Version: "v1"}
		none := schema.GroupVersion{Group: "none.example.com", Version: "v1"}
		for _, q := range []struct {
			at   *meta.RESTMapping
			want discovery
		}{
			{at(shop.WithKind("Widget"), "widgets", true), saysServed},
			{at(shop.WithKind("Gadget"), "gadgets", true), saysServed},
			{at(shop.WithKind("Gadget"), "widgets", true), saysMoved},
			{at(shop.WithKind("Widget"), "widgets", false), saysMoved},
			{at(shop.WithKind("Thing"), "things", true), saysMissing},
			{at(none.WithKind("Widget"), "widgets", true), saysMissing},
			{at(apps.WithKind("Deployment"), "deployments", true), saysServed},
			{at(apps.WithKind("Scale"), "scales", true), saysMissing}, // that of deployments/scale
		} {
			require.Equal(t, q.want, c.discover(t.Context(), q.at), "%v", q.at)
		}
		require.True(t, meta.IsNoMatchError(c.move(at(none.WithKind("Widget"), "widgets", true))))
		require.ErrorIs(t, c.move(at(shop.WithKind("Widget"), "widgets", true)), errMapperIsOld)
		require.NoError(t, c.move(at(shop.WithKind("Widget"), "widgets", false)))

		server.Inject(fakeapi.Fault{Status: fakeapi.Unavailable()})
		require.Equal(t, saysNothing, c.discover(t.Context(), at(shop.WithKind("Widget"), "widgets", true)))
	})
}
