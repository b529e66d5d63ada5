package informer

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/cluster/clustertest"
)

// runs runs an informer until the test ends, and waits for its first list.
func runs[T Object](t *testing.T, from *ListWatch[T]) *Informer[T] {
	t.Helper()
	informer := NewInformer(from, InformerOptions[T]{})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = informer.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	require.NoError(t, informer.WaitForSync(ctx))
	return informer
}

// holds waits until the informer has an object, and returns it.
func holds[T Object](t *testing.T, informer *Informer[T], key Key) (object T) {
	t.Helper()
	eventually(t, "the informer must hold "+key.String(), func() (ok bool) {
		object, ok = informer.Store().Get(key)
		return ok
	})
	return object
}

// A real server's custom resources, in an informer that knows nothing of their kind.
func TestUnstructuredObjectsOfACustomResource(t *testing.T) {
	kind := newWidgets(t, "forms.example.com")
	kind.install()
	defer kind.uninstall(nil)
	kind.create("first")
	from, err := NewListWatch[*unstructured.Unstructured](clustertest.Config(t), kind.resource,
		ListWatchOptions{Namespace: kind.namespace})
	require.NoError(t, err)
	informer := runs(t, from)
	kind.create("second")
	for _, name := range []string{"first", "second"} { // of the list, and of the watch
		widget := holds(t, informer, keyIn(kind.namespace, name))
		require.Equal(t, kind.resource.GroupVersion().WithKind("Widget"), widget.GroupVersionKind())
		require.NotEmpty(t, widget.GetUID())
	}
}

// Metadata in protobuf comes with the server's name for it; the reader's name must
// be on the objects, in a list as in a watch.
func TestMetadataOnlyPodsOfARealServer(t *testing.T) {
	config, namespace := clustertest.Config(t), clustertest.Namespace(t)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	create := func(name string) (pod *corev1.Pod) {
		require.EventuallyWithT(t, func(t *assert.CollectT) { // a namespace has no service account at first
			var err error
			pod, err = client.CoreV1().Pods(namespace).Create(context.Background(), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}},
				Spec: corev1.PodSpec{NodeSelector: map[string]string{"no": "node"},
					Containers: []corev1.Container{{Name: "c", Image: "none"}}},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
		}, 2*time.Minute, 100*time.Millisecond)
		return pod
	}
	inList := create("list")
	from, err := NewListWatch[*metav1.PartialObjectMetadata](config, podResource,
		ListWatchOptions{Namespace: namespace, Kind: podKind})
	require.NoError(t, err)
	body, mediaType, err := from.client.get(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.NoError(t, body.Close())
	require.True(t, strings.HasPrefix(mediaType, protobufType), mediaType)

	informer := runs(t, from)
	inWatch := create("watch")
	for _, made := range []*corev1.Pod{inList, inWatch} {
		pod := holds(t, informer, KeyOf(made))
		require.Equal(t, podKind, pod.GroupVersionKind())
		require.Equal(t, made.UID, pod.UID)
		require.Equal(t, made.Labels, pod.Labels)
	}
}

// What the real server calls the items is a fact that the documentation of
// FormMetadata states.
func TestARealServerCallsMetadataByItsOwnName(t *testing.T) {
	w := newWorld(t, clustertest.Config(t), clustertest.Namespace(t))
	w.create(t, "apple", nil)
	from, err := NewListWatch[*metav1.PartialObjectMetadata](w.config, configMapResource,
		ListWatchOptions{Namespace: w.namespace, JSON: true})
	require.NoError(t, err)
	body, mediaType, err := from.client.get(t.Context(), metav1.ListOptions{LabelSelector: "test"})
	require.NoError(t, err)
	defer func() { _ = body.Close() }()
	content, err := io.ReadAll(body)
	require.NoError(t, err)
	var list unstructured.UnstructuredList
	require.NoError(t, list.UnmarshalJSON(content), mediaType)
	require.Equal(t, metadataKind.GroupVersion().WithKind("PartialObjectMetadataList"),
		list.GroupVersionKind())
	require.Equal(t, metadataKind, list.Items[0].GroupVersionKind())
}

// One Go type for all kinds, and still typed objects behind it.
func TestTypedObjectsUnderAnInterface(t *testing.T) {
	w := newWorld(t, clustertest.Config(t), clustertest.Namespace(t))
	inList := w.create(t, "list", nil)
	from, err := NewListWatch[Object](w.config, configMapResource,
		ListWatchOptions{Namespace: w.namespace, Kind: configMapKind})
	require.NoError(t, err)
	informer := runs(t, from)
	inWatch := w.create(t, "watch", nil)
	for _, made := range []*corev1.ConfigMap{inList, inWatch} {
		require.Equal(t, made, holds(t, informer, KeyOf(made)))
	}
}
