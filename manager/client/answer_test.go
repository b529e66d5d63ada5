package client_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/hostile"
	"github.com/loopwright/loopwright/manager/client"
)

// A proxy's {} with the code 200 isn't an API server's answer. Taken for one, it's a list without
// objects, and a patch that never arrived: the garbage collector would go on, and delete Pods that
// a user wants to keep.
func TestABracketedNothingIsNoAnswerToARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var network *hostile.Network
		server := fakeapi.New(fakeapi.Options{
			NoManagedFields: true,
			Front:           func(http.Handler) http.Handler { return network },
		})
		network = hostile.New(server)
		defer server.Close()
		defer network.Close()
		c, err := client.New(server.Config(), client.Options{})
		require.NoError(t, err)
		object := func(name string) *corev1.ConfigMap {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: name,
			}}
		}
		require.NoError(t, c.Create(t.Context(), object("a")))
		patch := client.RawPatch(types.MergePatchType, []byte(`{"data":{"a":"b"}}`))
		metadata := &metav1.PartialObjectMetadata{ObjectMeta: object("a").ObjectMeta}
		metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		for name, request := range map[hostile.Op]func() error{
			hostile.List: func() error { return c.List(t.Context(), &corev1.ConfigMapList{}) },
			hostile.Get: func() error {
				return c.Get(t.Context(), client.ObjectKeyFromObject(metadata), metadata)
			},
			hostile.Create: func() error { return c.Create(t.Context(), object("b")) },
			hostile.Update: func() error { return c.Update(t.Context(), object("a")) },
			hostile.Patch:  func() error { return c.Patch(t.Context(), object("a"), patch) },
			hostile.Status: func() error {
				return c.Status().Patch(t.Context(), &corev1.Pod{
					ObjectMeta: object("pod").ObjectMeta,
				}, patch)
			},
		} {
			hits := network.Begin(hostile.Attack{Fault: hostile.Find("braces"), On: name})
			err := request()
			require.ErrorContains(t, err, "the answer is not an API server's", name)
			require.ErrorContains(t, err, `200, application/json, "{}"`, name)
			require.Equal(t, 1, hits(), name)
		}
		for _, applied := range []runtime.ApplyConfiguration{
			coreapply.ConfigMap("a", "default").WithData(map[string]string{"a": "b"}),
			client.ApplyConfigurationFromUnstructured(unstructuredMap("a")),
		} {
			hits := network.Begin(hostile.Attack{Fault: hostile.Find("braces"), On: hostile.Patch})
			err := c.Apply(t.Context(), applied, client.FieldOwner("us"))
			require.ErrorContains(t, err, "the answer is not an API server's", "%T", applied)
			require.ErrorContains(t, err, `200, application/json, "{}"`, "%T", applied)
			require.Equal(t, 1, hits())
		}
	})
}

func unstructuredMap(name string) *unstructured.Unstructured {
	made := &unstructured.Unstructured{}
	made.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	made.SetNamespace("default")
	made.SetName(name)
	return made
}
