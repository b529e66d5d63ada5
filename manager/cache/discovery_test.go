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
		at := func(gv schema.GroupVersion, resource string, namespaced bool) place {
			return place{gv.WithResource(resource), namespaced}
		}
		apps := schema.GroupVersion{Group: "apps", Version: "v1"}
		none := schema.GroupVersion{Group: "none.example.com", Version: "v1"}
		for _, q := range []struct {
			kind schema.GroupVersionKind
			of   place
			want discovery
		}{
			{shop.WithKind("Widget"), at(shop, "widgets", true), saysServed},
			{shop.WithKind("Gadget"), at(shop, "gadgets", true), saysServed},
			{shop.WithKind("Gadget"), at(shop, "widgets", true), saysMoved},
			{shop.WithKind("Widget"), at(shop, "widgets", false), saysMoved},
			{shop.WithKind("Thing"), at(shop, "things", true), saysMissing},
			{none.WithKind("Widget"), at(none, "widgets", true), saysMissing},
			{apps.WithKind("Deployment"), at(apps, "deployments", true), saysServed},
			{apps.WithKind("Scale"), at(apps, "scales", true), saysMissing}, // that of deployments/scale
		} {
			require.Equal(t, q.want, c.discover(t.Context(), q.kind, q.of), "%v at %v", q.kind, q.of)
		}
		require.True(t, meta.IsNoMatchError(c.move(none.WithKind("Widget"), at(none, "widgets", true))))
		require.ErrorIs(t, c.move(shop.WithKind("Widget"), at(shop, "widgets", true)), errMapperIsOld)
		require.NoError(t, c.move(shop.WithKind("Widget"), at(shop, "widgets", false)))

		server.Inject(fakeapi.Fault{Status: fakeapi.Unavailable()})
		require.Equal(t, saysNothing, c.discover(t.Context(), shop.WithKind("Widget"), at(shop, "widgets", true)))
	})
}
