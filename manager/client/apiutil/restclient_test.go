package apiutil

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// answering is a server that has one answer. It keeps the last request.
type answering struct {
	body, contentType string
	last              *http.Request
}

// RoundTrip implements http.RoundTripper.
func (a *answering) RoundTrip(request *http.Request) (*http.Response, error) {
	a.last = request
	return fakeapi.Answer(request, http.StatusOK, a.contentType, a.body), nil
}

var codecs = serializer.NewCodecFactory(clientgoscheme.Scheme)

func TestAKindTravelsAsItCan(t *testing.T) {
	protobuf := &rest.Config{ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf, AcceptContentTypes: runtime.ContentTypeProtobuf}}
	for _, c := range []struct {
		name                      string
		kind                      schema.GroupVersionKind
		forbidden, isUnstructured bool
		config                    *rest.Config
		path, accept              string
	}{
		{"a built-in kind", podKind, false, false, &rest.Config{}, "/api/v1/things", "application/vnd.kubernetes.protobuf, */*"},
		{"of another group", deployKind, false, false, &rest.Config{}, "/apis/apps/v1/things", "application/vnd.kubernetes.protobuf, */*"},
		{"a custom one", widgetV1, false, false, &rest.Config{}, "/apis/shop.example/v1/things", "application/json, */*"},
		{"protobuf is forbidden", podKind, true, false, &rest.Config{}, "/api/v1/things", "application/json, */*"},
		{"unstructured", podKind, false, true, &rest.Config{}, "/api/v1/things", "application/json"},
		{"the configuration wants JSON", podKind, false, false, &rest.Config{ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, "/api/v1/things", "application/json, */*"},
		{"and protobuf is forbidden, which says nothing new", podKind, true, false, &rest.Config{ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"}}, "/api/v1/things", "application/json"},
		{"the configuration wants protobuf", widgetV1, false, false, protobuf, "/apis/shop.example/v1/things", "application/vnd.kubernetes.protobuf"},
		{"and it is forbidden", podKind, true, false, protobuf, "/api/v1/things", "application/json, */*"},
		{"and the object is unstructured", podKind, true, true, protobuf, "/api/v1/things", "application/json"},
	} {
		server := &answering{}
		connection, err := RESTClientForGVK(c.kind, c.forbidden, c.isUnstructured, c.config, codecs, &http.Client{Transport: server})
		require.NoError(t, err, c.name)
		connection.Get().Resource("things").Do(t.Context())
		require.Equal(t, c.path, server.last.URL.Path, c.name)
		require.Equal(t, c.accept, server.last.Header.Get("Accept"), c.name)
		require.Nil(t, c.config.GroupVersion, "the caller's configuration stays as it is")
	}
	_, err := RESTClientForGVK(podKind, false, false, &rest.Config{}, codecs, nil)
	require.ErrorContains(t, err, "rest.HTTPClientFor")
}

func TestKindsOfAnAggregatedServerCanTravelAsProtobuf(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "aggregated.example", Version: "v1", Kind: "Pod"}
	builtin := protobufKinds.scheme
	protobufKinds.scheme = runtime.NewScheme()
	t.Cleanup(func() { protobufKinds.scheme = builtin })
	require.False(t, travelsAsProtobuf(kind))
	require.NoError(t, AddToProtobufScheme(func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypeWithName(kind, &corev1.Pod{})
		return nil
	}))
	require.True(t, travelsAsProtobuf(kind))
	require.ErrorIs(t, AddToProtobufScheme(func(*runtime.Scheme) error { return errDown }), errDown)
}

func TestAnObjectIsEmptiedBeforeItIsReadInto(t *testing.T) {
	server := &answering{body: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"new"}}`, contentType: "application/json"}
	connection, err := RESTClientForGVK(podKind, true, false, &rest.Config{}, codecs, &http.Client{Transport: server})
	require.NoError(t, err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "old", Labels: map[string]string{"old": "1"}}, Spec: corev1.PodSpec{NodeName: "old"}}
	require.NoError(t, connection.Get().Resource("pods").Do(t.Context()).Into(pod))
	require.Equal(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "new"}}, pod)
	got, err := connection.Get().Resource("pods").Do(t.Context()).Get()
	require.NoError(t, err)
	require.Equal(t, pod, got)

	connection, err = RESTClientForGVK(podKind, true, true, &rest.Config{}, codecs, &http.Client{Transport: server})
	require.NoError(t, err)
	free := &unstructured.Unstructured{Object: map[string]any{"spec": "old"}}
	require.NoError(t, connection.Get().Resource("pods").Do(t.Context()).Into(free))
	require.Equal(t, map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "new"}}, free.Object)
}
