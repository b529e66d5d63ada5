package scheme_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/scheme"
)

var shop = schema.GroupVersion{Group: "shop.example.com", Version: "v1"}

func ExampleBuilder() {
	builder := &scheme.Builder{GroupVersion: schema.GroupVersion{Group: "shop.example.com", Version: "v1"}}
	builder.Register(&corev1.ConfigMap{}, &corev1.ConfigMapList{}) // your own types, in a real program
	types, err := builder.Build()
	if err != nil {
		panic(err)
	}
	kinds, _, _ := types.ObjectKinds(&corev1.ConfigMap{})
	fmt.Println(kinds)
	// Output: [shop.example.com/v1, Kind=ConfigMap]
}

func TestASchemeHasAllTypesThatWereRegistered(t *testing.T) {
	builder := &scheme.Builder{GroupVersion: shop}
	require.Same(t, builder, builder.Register(&corev1.ConfigMap{}, &corev1.ConfigMapList{}).Register(&corev1.Secret{}))
	s := runtime.NewScheme()
	require.NoError(t, builder.AddToScheme(s))
	for _, kind := range []string{"ConfigMap", "ConfigMapList", "Secret", "ListOptions", "WatchEvent"} {
		require.True(t, s.Recognizes(shop.WithKind(kind)), "%s: a list or a watch of the group cannot be decoded without", kind)
	}
	require.False(t, s.Recognizes(shop.WithKind("Pod")))
}

func TestOneBuilderTakesWhatAnotherHasWithItsVersion(t *testing.T) {
	apps := (&scheme.Builder{GroupVersion: appsv1.SchemeGroupVersion}).Register(&appsv1.Deployment{})
	s, err := (&scheme.Builder{GroupVersion: shop}).Register(&corev1.Secret{}).RegisterAll(apps).Build()
	require.NoError(t, err)
	require.True(t, s.Recognizes(appsv1.SchemeGroupVersion.WithKind("Deployment")))
	require.True(t, s.Recognizes(shop.WithKind("Secret")))
	require.False(t, s.Recognizes(shop.WithKind("Deployment")))
}
