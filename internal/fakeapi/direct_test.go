package fakeapi_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

var configMapResource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// inDirect runs a test with a server that is never closed: the bubble fails it if something is left.
func inDirect(t *testing.T, options fakeapi.Options, test func(*testing.T, *fakeapi.Server, kubernetes.Interface)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(options)
		config := server.Config()
		config.Transport = server.Transport()
		client, err := kubernetes.NewForConfig(config)
		require.NoError(t, err)
		test(t, server, client)
	})
}

func TestADirectTransportLeavesNothingBehind(t *testing.T) {
	inDirect(t, fakeapi.Options{}, func(t *testing.T, server *fakeapi.Server, client kubernetes.Interface) {
		maps := client.CoreV1().ConfigMaps("default")
		w, err := maps.Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		_, err = maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		require.Equal(t, "a", (<-w.ResultChan()).Object.(*corev1.ConfigMap).Name)
		w.Stop()

		_, err = maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1", FieldSelector: "no.such=field"})
		require.True(t, apierrors.IsBadRequest(err), "a watch that is refused has an answer like any request: %v", err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = maps.List(ctx, metav1.ListOptions{})
		require.ErrorIs(t, err, context.Canceled)
	})
}

// client-go v0.37.2 leaves the body of a watch open if its content type is unknown (rest/request.go, newStreamWatcher).
// A connection ends with the context then.
func TestADirectWatchEndsWithItsContextEvenIfItsBodyStaysOpen(t *testing.T) {
	inDirect(t, fakeapi.Options{}, func(t *testing.T, server *fakeapi.Server, client kubernetes.Interface) {
		ctx, cancel := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.Config().Host+"/api/v1/configmaps?watch=true", nil)
		require.NoError(t, err)
		response, err := server.Transport().RoundTrip(request)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, response.StatusCode)
		_, err = client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		synctest.Wait() // until the server sends the event, which nobody reads
		cancel()
	})
}

func TestADirectTransportShowsFaults(t *testing.T) {
	inDirect(t, fakeapi.Options{}, func(t *testing.T, server *fakeapi.Server, client kubernetes.Interface) {
		server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "update"}, Refuse: true})
		_, err := client.CoreV1().ConfigMaps("default").Update(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.UpdateOptions{})
		require.ErrorIs(t, err, io.EOF)
		server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "get"}, Hang: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = client.CoreV1().ConfigMaps("default").Get(ctx, "a", metav1.GetOptions{})
		require.Error(t, err)
	})
}

func TestLoadedObjectsAreThePastOfAWatch(t *testing.T) {
	inDirect(t, fakeapi.Options{AnyNamespace: true}, func(t *testing.T, server *fakeapi.Server, client kubernetes.Interface) {
		load := func(name, version string) error {
			_, err := server.Load(configMapResource, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, ResourceVersion: version}})
			return err
		}
		require.NoError(t, load("b", "5"))
		require.NoError(t, load("a", ""))
		require.Error(t, load("a", "7"), "it is there already")
		maps := client.CoreV1().ConfigMaps("a")
		list, err := maps.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b"}, []string{list.Items[0].Name, list.Items[1].Name})
		require.Equal(t, "999", list.ResourceVersion)
		w, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		require.NoError(t, err)
		defer w.Stop()
		require.NoError(t, maps.Delete(t.Context(), "b", metav1.DeleteOptions{}))
		event := (<-w.ResultChan()).Object.(*corev1.ConfigMap)
		require.Equal(t, "b 1000", event.Name+" "+event.ResourceVersion, "an informer must see what happens after its list, and only that")
		past, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "5"})
		require.NoError(t, err)
		defer past.Stop()
		gone := apierrors.FromObject((<-past.ResultChan()).Object)
		require.True(t, apierrors.IsResourceExpired(gone), "nobody knows what happened between version 5 and the loading: %v", gone)
		_, err = server.Load(schema.GroupVersionResource{Resource: "none"}, &corev1.ConfigMap{})
		require.ErrorContains(t, err, "not registered")
	})
}

// shape is a Go type with all that a schema can be made of.
type shape struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Inlined           `json:",inline"`
	Pointer           *Inlined             `json:"pointer,omitempty"`
	Map               map[string]Inlined   `json:"map,omitempty"`
	List              []*Inlined           `json:"list,omitempty"`
	Any               runtime.RawExtension `json:"any,omitempty"`
	Hidden            string               `json:"-"`
	Untagged          string
}

// Inlined has one field.
type Inlined struct {
	Known string `json:"known,omitempty"`
}

func (s *shape) DeepCopyObject() runtime.Object { return s }

func TestFieldsThatAGoTypeDoesNotHaveArePruned(t *testing.T) {
	kind := fakeapi.Kind{Group: "shop.example", Version: "v1", Kind: "Shape", Example: &shape{}}
	server := fakeapi.New(fakeapi.Options{Kinds: []fakeapi.Kind{kind}})
	body := `{"metadata":{"name":"a","labels":{"x":"y"},"none":1},"known":"k","Hidden":"h","Untagged":"u","any":{"free":{"form":1}},
		"pointer":{"known":"k","none":1},"map":{"key":{"known":"k","none":1}},"list":[{"known":"k"},{"none":1}]}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://fake/apis/shop.example/v1/namespaces/default/shapes", strings.NewReader(body))
	require.NoError(t, err)
	answer, err := server.Transport().RoundTrip(request)
	require.NoError(t, err)
	raw, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	u := &unstructured.Unstructured{}
	require.NoError(t, u.UnmarshalJSON(raw), string(raw))
	require.Len(t, answer.Header["Warning"], 5, "%v", answer.Header["Warning"])
	delete(u.Object, "metadata")
	delete(u.Object, "apiVersion")
	delete(u.Object, "kind")
	known := map[string]any{"known": "k"}
	require.Equal(t, map[string]any{"known": "k", "Untagged": "u", "any": map[string]any{"free": map[string]any{"form": int64(1)}},
		"pointer": known, "map": map[string]any{"key": known}, "list": []any{known, map[string]any{}}}, u.Object)
}
