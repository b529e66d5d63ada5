package controllerutil_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
)

// odd is an object with a field that may hold what has no JSON.
type odd struct {
	corev1.ConfigMap
	Extra any `json:"extra,omitempty"`
}

func (o *odd) DeepCopyObject() runtime.Object {
	return &odd{ConfigMap: *o.ConfigMap.DeepCopy(), Extra: o.Extra}
}

// oddClient reads and patches objects in memory, and makes them unreadable.
type oddClient struct {
	client.Client
	get, patch any // what is in the object after that
	patches    int
}

func (c *oddClient) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	obj.(*odd).Extra = c.get
	return nil
}

func (c *oddClient) Patch(_ context.Context, obj client.Object, _ client.Patch, _ ...client.PatchOption) error {
	c.patches++
	obj.(*odd).Extra = c.patch
	return nil
}

// The patch would be about something else than the object.
func TestAnObjectThatCannotBeComparedIsAnError(t *testing.T) {
	unreadable := make(chan int)
	for _, c := range []struct {
		name    string
		client  *oddClient
		extra   any // what the function writes
		patches int
		want    controllerutil.OperationResult
	}{
		{"as it was", &oddClient{get: unreadable}, "fine", 0, controllerutil.OperationResultNone},
		{"as it is wanted", &oddClient{}, unreadable, 0, controllerutil.OperationResultNone},
	} {
		t.Run(c.name, func(t *testing.T) {
			obj := &odd{}
			result, err := controllerutil.CreateOrPatch(t.Context(), c.client, obj, func() error { obj.Extra = c.extra; return nil })
			require.Error(t, err)
			require.Equal(t, c.want, result)
			require.Equal(t, c.patches, c.client.patches)
		})
	}
}

// An empty map and none are the same to the server. A write would change nothing.
func TestAnEmptyMapIsNoDifference(t *testing.T) {
	each(t, func(w *world, do call) {
		w.make()
		d := empty()
		result, err := do(w, d, func() error { d.Annotations = map[string]string{}; return nil })
		require.NoError(w, err)
		require.Equal(w, controllerutil.OperationResultNone, result)
		require.Equal(w, []string{get}, w.sent())
	})
}
