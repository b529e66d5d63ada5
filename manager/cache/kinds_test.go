package cache

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/informer"
)

// An object that is missing in the cache is taken for one that was deleted, so a transform that goes wrong must leave one there.
func TestWhatATransformReturnsIsTakenOnlyIfItIsAnObjectOfTheSameType(t *testing.T) {
	before, after := &corev1.Secret{Type: "before"}, &corev1.Secret{Type: "after"}
	broken := errors.New("broken")
	for _, test := range []struct {
		what      string
		transform informer.TransformFunc
		want      *corev1.Secret
		err       string
	}{
		{"no transform", nil, before, ""},
		{"another object of the type", func(any) (any, error) { return after, nil }, after, ""},
		{"the object, changed", func(object any) (any, error) { return object, nil }, before, ""},
		{"an error", func(any) (any, error) { return after, broken }, before, "broken"},
		{"an error and nothing", func(any) (any, error) { return nil, broken }, before, "broken"},
		{"an object of another type", func(any) (any, error) { return &corev1.Pod{}, nil }, before, "the transform made a *v1.Pod of a *v1.Secret"},
		{"no object", func(any) (any, error) { return "x", nil }, before, "the transform made a string of a *v1.Secret"},
		{"nothing", func(any) (any, error) { return nil, nil }, before, "the transform made a <nil> of a *v1.Secret"},
	} {
		got, err := transformed(before, test.transform)
		require.Same(t, test.want, got, test.what)
		if test.err == "" {
			require.NoError(t, err, test.what)
		} else {
			require.EqualError(t, err, test.err, test.what)
		}
	}
}

// A transform that reads the kind finds it, though the server leaves it out of lists.
func TestATransformSeesTheKindOfATypedObject(t *testing.T) {
	seen := metav1.TypeMeta{}
	transform := transformOf(secretKind, func(object any) (any, error) {
		seen = object.(*corev1.Secret).TypeMeta
		return object, nil
	})
	object := &corev1.Secret{}
	got, err := transform(object)
	require.NoError(t, err)
	require.Same(t, object, got)
	require.Equal(t, metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, seen)
}

var secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}

// A view is found by the Go type of the object only where the type says which kind is meant.
func TestATypeOfSeveralKindsOrOfNoneDoesNotSayTheKind(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	second := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Settings"}
	scheme.AddKnownTypeWithName(second, &corev1.ConfigMap{})
	c := &objectCache{options: Options{Scheme: scheme}}
	require.True(t, c.hasOneKind(&corev1.Secret{}))
	require.False(t, c.hasOneKind(&corev1.ConfigMap{}), "two kinds have this type")
	require.False(t, c.hasOneKind(&unstructured.Unstructured{}))
	require.False(t, c.hasOneKind(&metav1.PartialObjectMetadata{}))
	require.False(t, c.hasOneKind(&unregistered{}), "the scheme does not know the type")
}

type unregistered struct{ corev1.Secret }
