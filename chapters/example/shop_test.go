package example

import (
	_ "embed"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

//go:embed shop.yaml
var shop []byte

// Chapter 8 prints this file as what a user writes.
func TestTheWebsiteOfChapter8CanBeRead(t *testing.T) {
	var site Website
	require.NoError(t, yaml.UnmarshalStrict(shop, &site))
	require.Equal(t, Kind, site.GroupVersionKind())
	require.Equal(t, "home", site.Spec.Page)
	require.EqualValues(t, 2, *site.Spec.Replicas)
}
