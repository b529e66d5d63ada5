package cache

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		got, err := transformOf(secretKind, test.transform)(before)
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
