package informer

import (
	"encoding/binary"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// formOfPods is 10,000 pods as a server sends them to the readers of one form.
type formOfPods struct {
	name      string
	options   ListWatchOptions
	mediaType string
	list      []byte
	stream    []byte // the same as a watch
}

const podsInForm = 10_000

func formsOfPods(b *testing.B) []formOfPods {
	forms := []formOfPods{
		{name: "typed", options: ListWatchOptions{Form: FormTyped}, mediaType: protobufType},
		{name: "typed-json", options: ListWatchOptions{Form: FormTyped, JSON: true}, mediaType: jsonType},
		{name: "metadata", options: ListWatchOptions{Form: FormMetadata}, mediaType: protobufType},
		{name: "unstructured", options: ListWatchOptions{Form: FormUnstructured}, mediaType: jsonType},
	}
	list, partial := &corev1.PodList{}, &metav1.PartialObjectMetadataList{}
	for i := range podsInForm {
		pod := benchmarkPod(i)
		list.Items = append(list.Items, *pod)
		partial.Items = append(partial.Items, metav1.PartialObjectMetadata{ObjectMeta: pod.ObjectMeta})
	}
	for i := range forms {
		form := &forms[i]
		form.options.Kind = podKind
		if form.options.Form == FormMetadata {
			form.list = encodedMetadata(b, partial)
		} else {
			form.list = encoded(b, form.mediaType, list)
		}
		for j := range podsInForm {
			var object runtime.Object = &list.Items[j]
			if form.options.Form == FormMetadata {
				form.stream = appendEvent(b, form.stream, form.mediaType, encodedMetadata(b, &partial.Items[j]))
			} else {
				form.stream = appendEvent(b, form.stream, form.mediaType, encoded(b, form.mediaType, object))
			}
		}
	}
	return forms
}

// appendEvent adds a MODIFIED event to the body of a watch.
func appendEvent(t testing.TB, stream []byte, mediaType string, object []byte) []byte {
	if mediaType == jsonType {
		return fmt.Appendf(stream, `{"type":"MODIFIED","object":%s}`, object)
	}
	event, err := (&metav1.WatchEvent{Type: "MODIFIED", Object: runtime.RawExtension{Raw: object}}).Marshal()
	require.NoError(t, err)
	return append(binary.BigEndian.AppendUint32(stream, uint32(len(event))), event...)
}

// BenchmarkForms reads 10,000 pods in each form, all of them under the type Object:
// first as a list, then as events of a watch.
func BenchmarkForms(b *testing.B) {
	for _, form := range formsOfPods(b) {
		read := func(b *testing.B, body []byte) *ListWatch[Object] {
			pods, err := NewListWatch[Object](&rest.Config{Host: "http://prepared", Transport: prepared{form.mediaType, body}}, podResource, form.options)
			require.NoError(b, err)
			b.ReportAllocs()
			return pods
		}
		b.Run("list/"+form.name, func(b *testing.B) {
			pods := read(b, form.list)
			for b.Loop() {
				list, err := pods.List(b.Context(), metav1.ListOptions{})
				if err != nil || len(list.Items) != podsInForm {
					b.Fatal(len(list.Items), err)
				}
			}
			b.ReportMetric(float64(len(form.list)), "body-bytes/op")
		})
		b.Run("watch/"+form.name, func(b *testing.B) {
			pods := read(b, form.stream)
			for b.Loop() {
				watching, err := pods.Watch(b.Context(), metav1.ListOptions{ResourceVersion: "1"})
				if err != nil {
					b.Fatal(err)
				}
				count := 0
				for _, err = watching.Next(); err == nil; _, err = watching.Next() {
					count++
				}
				if err != io.EOF || count != podsInForm {
					b.Fatal(count, err)
				}
			}
			b.ReportMetric(float64(len(form.stream)), "body-bytes/op")
		})
	}
}
