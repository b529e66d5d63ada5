package client

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// The tests of this package run in a synctest bubble, with an in-memory API server. It serves the
// built-in kinds, and widgets, which are custom resources.

var widgets = fakeapi.Kind{Group: "shop.example", Version: "v1", Kind: "Widget", Status: true,
	Scale: &fakeapi.Scale{SpecReplicas: ".spec.replicas", StatusReplicas: ".status.replicas"}}

// world is a client, its server, and what passes between them.
type world struct {
	*testing.T
	server *fakeapi.Server
	wire   *wire
	WithWatch
}

// inWorld runs a test. The namespace shop is there, and nothing else.
func inWorld(t *testing.T, options Options, test func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{Kinds: []fakeapi.Kind{widgets}})
		defer server.Close()
		config := server.Config()
		w := &world{T: t, server: server, wire: &wire{next: config.Transport}}
		config.Transport = w.wire
		c, err := NewWithWatch(config, options)
		require.NoError(t, err)
		w.WithWatch = c
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
		bare, err := New(config, Options{})
		require.NoError(t, err)
		require.NoError(t, bare.Create(t.Context(), namespace))
		w.wire.sent = nil
		test(w)
	})
}

// wire writes down the requests that pass, but for those that ask which kinds there are.
type wire struct {
	next http.RoundTripper

	mu   sync.Mutex // guards sent
	sent []string
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	var body []byte
	if request.Body != nil {
		body, _ = io.ReadAll(request.Body)
		request.Body = io.NopCloser(bytes.NewReader(body))
	}
	if !isDiscovery(request.URL.Path) {
		w.mu.Lock()
		w.sent = append(w.sent, line(request, string(body)))
		w.mu.Unlock()
	}
	return w.next.RoundTrip(request)
}

func isDiscovery(path string) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	return len(parts) < 3 || parts[0] == "apis" && len(parts) == 3
}

// line is a request on one line: what is asked, what the answer may be, and what is sent.
func line(request *http.Request, body string) string {
	out := request.Method + " " + request.URL.RequestURI() + " accept " + request.Header.Get("Accept")
	if contentType := request.Header.Get("Content-Type"); contentType != "" {
		if strings.HasPrefix(body, "k8s\x00") {
			body = "..."
		}
		out += " send " + contentType + " " + strings.TrimSpace(body)
	}
	return strings.NewReplacer("application/vnd.kubernetes.protobuf", "protobuf", "application/", "", ";g=meta.k8s.io;v=v1", "").Replace(out)
}

// requests returns what has passed since the last call.
func (w *wire) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	sent := w.sent
	w.sent = nil
	return sent
}

// sends runs a call, and checks that it sends this one request.
func (w *world) sends(want string, call func() error) {
	w.Helper()
	w.wire.requests()
	err := call()
	require.Equal(w, []string{want}, w.wire.requests(), "the server must be asked for this, and for nothing else")
	require.NoError(w, err)
}

func (w *world) mustCreate(objects ...Object) {
	w.Helper()
	for _, obj := range objects {
		require.NoError(w, w.Create(w.Context(), obj))
	}
	w.wire.requests()
}

func inShop(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shop", Name: name} }

func shopKey(name string) ObjectKey { return ObjectKey{Namespace: "shop", Name: name} }

func configMap(name string) *corev1.ConfigMap { return &corev1.ConfigMap{ObjectMeta: inShop(name)} }

func deployment(name string) *appsv1.Deployment {
	labels, replicas := map[string]string{"app": name}, int32(1)
	return &appsv1.Deployment{ObjectMeta: inShop(name), Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web:1"}}}},
	}}
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: inShop(name), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web:1"}}}}
}

var widgetKind = schema.GroupVersionKind{Group: "shop.example", Version: "v1", Kind: "Widget"}

func widget(name string) *unstructured.Unstructured {
	u := newUnstructured(widgetKind)
	u.SetNamespace("shop")
	u.SetName(name)
	return u
}

func listOf(gvk schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk)
	return list
}

func metadataOf(gvk schema.GroupVersionKind, name string) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{ObjectMeta: inShop(name)}
	m.SetGroupVersionKind(gvk)
	return m
}

func metadataListOf(gvk schema.GroupVersionKind) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk)
	return list
}

var configMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")

func eachItem(list ObjectList, f func()) error {
	return meta.EachListItem(list, func(runtime.Object) error { f(); return nil })
}

func newUnstructured(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}
