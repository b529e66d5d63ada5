package wire

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// answers is a server that says yes.
type answers struct{}

func (answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

// recordOne records a call that sends one request and shows one object.
func recordOne(t *testing.T, side string, version, body, accept string) string {
	t.Helper()
	recorder := &Recorder{Next: answers{}}
	did, err := Record(Call{Do: func(take *Take) error {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: take.Namespace, Name: take.Name, ResourceVersion: version}}
		take.Show(object)
		request, err := http.NewRequest(http.MethodPut, "https://server/api/v1/namespaces/"+take.Namespace+"/configmaps/"+take.Name+"?b=2&a=1", strings.NewReader(body))
		if err != nil {
			return err
		}
		request.Header.Set("Accept", accept)
		_, err = recorder.RoundTrip(request)
		return err
	}}, NewTake(t.Context(), nil, "side-"+side, "call-1"), recorder)
	require.NoError(t, err)
	return did.Text()
}

// TestTheSameCallIsTheSameText holds that two clients that do the same are not told apart.
func TestTheSameCallIsTheSameText(t *testing.T) {
	assert.Equal(t,
		recordOne(t, "a", "17", `{"b":1,"a":{"resourceVersion":"17"}}`, "application/json"),
		recordOne(t, "b", "18", `{"a":{"resourceVersion":"18"},"b":1}`, "application/json"))
	assert.Equal(t, "PUT /api/v1/namespaces/NAMESPACE/configmaps/NAME?a=1&b=2 -> 200\n    Accept: x\n    {}\nok\n"+
		`*v1.ConfigMap {"metadata":{"name":"NAME","namespace":"NAMESPACE","resourceVersion":"VERSION"}}`+"\n", recordOne(t, "a", "1", "{}", "x"))
}

// TestADifferenceIsSeen holds that two clients that do not do the same are.
func TestADifferenceIsSeen(t *testing.T) {
	first := recordOne(t, "a", "17", `{"b":1}`, "application/json")
	assert.NotEqual(t, first, recordOne(t, "b", "17", `{"b":2}`, "application/json"), "another body")
	assert.NotEqual(t, first, recordOne(t, "b", "17", `{"b":1}`, "application/yaml"), "another header")
	assert.NotEqual(t, first, recordOne(t, "b", "", `{"b":1}`, "application/json"), "no version")
}

// TestABodyInProtobufCanBeRead holds that the comparison looks into it.
func TestABodyInProtobufCanBeRead(t *testing.T) {
	encoder, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	require.True(t, ok)
	body, err := runtime.Encode(codecs.EncoderForVersion(encoder.Serializer, corev1.SchemeGroupVersion), &corev1.ConfigMap{Data: map[string]string{"a": "b"}})
	require.NoError(t, err)
	assert.Equal(t, `protobuf of /v1, Kind=ConfigMap: {"apiVersion":"v1","data":{"a":"b"},"kind":"ConfigMap","metadata":{}}`, readable(body))
}

// TestDiscoveryIsNotRecorded holds that clients may find out about kinds in different ways.
func TestDiscoveryIsNotRecorded(t *testing.T) {
	for _, test := range []struct {
		path     string
		recorded bool
	}{
		{"/api", false}, {"/apis", false}, {"/api/v1", false}, {"/apis/apps", false}, {"/apis/apps/v1", false},
		{"/api/v1/namespaces", true}, {"/apis/apps/v1/deployments", true}, {"/api/v1/namespaces/a", true},
	} {
		recorder := &Recorder{Next: answers{}}
		request, err := http.NewRequest(http.MethodGet, "https://server"+test.path, nil)
		require.NoError(t, err)
		_, err = recorder.RoundTrip(request)
		require.NoError(t, err)
		assert.Equal(t, test.recorded, len(recorder.Taken()) == 1, test.path)
	}
}

// TestErrorsAreToldApart holds that a program that branches on an error takes the same branch.
func TestErrorsAreToldApart(t *testing.T) {
	for _, test := range []struct {
		err  error
		kind string
	}{
		{nil, "ok"},
		{fmt.Errorf("wrapped: %w", apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "a")), `404 NotFound: pods "a" not found`},
		{runtime.NewNotRegisteredErrForKind("scheme", schema.GroupVersionKind{Kind: "A"}), "a type that is not registered"},
		{runtime.NewMissingKindErr("x"), "an object without a kind"},
		{errors.New("something else"), "an error of the client"},
	} {
		kind, _ := describe(test.err)
		assert.Equal(t, test.kind, kind)
	}
}
