package informer

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
)

// preparedBody answers every request with the same bytes.
type preparedBody struct {
	mediaType string
	body      []byte
}

func (p preparedBody) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {p.mediaType}},
		ContentLength: int64(len(p.body)), Body: io.NopCloser(bytes.NewReader(p.body))}, nil
}

func encodedBody(b *testing.B, names *kruntime.Scheme, mediaType string, object kruntime.Object) *rest.Config {
	codecs := serializer.NewCodecFactory(names)
	info, ok := kruntime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), mediaType)
	require.True(b, ok)
	version := corev1.SchemeGroupVersion
	if _, ok := object.(*metav1.PartialObjectMetadataList); ok {
		version = metav1.SchemeGroupVersion
	}
	body, err := kruntime.Encode(codecs.EncoderForVersion(info.Serializer, version), object)
	require.NoError(b, err)
	return &rest.Config{Host: "http://prepared", Transport: preparedBody{mediaType, body}, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: mediaType}}
}

// BenchmarkForms lists 10,000 pods as typed objects, as metadata only and as
// unstructured objects. client-go has a client for each; ours is the same ListWatch.
// The answer is in memory, so only the reader is measured.
func BenchmarkForms(b *testing.B) {
	count := 10_000
	if testing.Short() {
		count = 500
	}
	list, partial := &corev1.PodList{}, &metav1.PartialObjectMetadataList{}
	for i := range count {
		made := pod(i)
		list.Items = append(list.Items, *made)
		partial.Items = append(partial.Items, metav1.PartialObjectMetadata{ObjectMeta: made.ObjectMeta})
	}
	metadataKinds := kruntime.NewScheme()
	require.NoError(b, metav1.AddMetaToScheme(metadataKinds))
	typed := encodedBody(b, scheme.Scheme, kruntime.ContentTypeProtobuf, list)
	meta := encodedBody(b, metadataKinds, kruntime.ContentTypeProtobuf, partial)
	free := encodedBody(b, scheme.Scheme, kruntime.ContentTypeJSON, list)

	b.Run("typed/ours", func(b *testing.B) { listOurs[*corev1.Pod](b, typed, count) })
	b.Run("typed/client-go", func(b *testing.B) {
		client, err := kubernetes.NewForConfig(typed)
		require.NoError(b, err)
		listEach(b, count, func() (int, error) {
			list, err := client.CoreV1().Pods("").List(b.Context(), metav1.ListOptions{})
			return len(list.Items), err
		})
	})
	b.Run("metadata/ours", func(b *testing.B) { listOurs[*metav1.PartialObjectMetadata](b, meta, count) })
	b.Run("metadata/client-go", func(b *testing.B) {
		client, err := metadata.NewForConfig(meta)
		require.NoError(b, err)
		listEach(b, count, func() (int, error) {
			list, err := client.Resource(podsResource).List(b.Context(), metav1.ListOptions{})
			return len(list.Items), err
		})
	})
	b.Run("unstructured/ours", func(b *testing.B) { listOurs[*unstructured.Unstructured](b, free, count) })
	b.Run("unstructured/client-go", func(b *testing.B) {
		client, err := dynamic.NewForConfig(free)
		require.NoError(b, err)
		listEach(b, count, func() (int, error) {
			list, err := client.Resource(podsResource).List(b.Context(), metav1.ListOptions{})
			return len(list.Items), err
		})
	})
}

var podsResource = corev1.SchemeGroupVersion.WithResource("pods")

func listOurs[T informer.Object](b *testing.B, config *rest.Config, count int) {
	pods, err := informer.NewListWatch[T](config, podsResource, informer.ListWatchOptions{})
	require.NoError(b, err)
	listEach(b, count, func() (int, error) {
		list, err := pods.List(b.Context(), metav1.ListOptions{})
		return len(list.Items), err
	})
}

func listEach(b *testing.B, count int, list func() (int, error)) {
	b.ReportAllocs()
	for b.Loop() {
		if got, err := list(); err != nil || got != count {
			b.Fatal(got, err)
		}
	}
}
