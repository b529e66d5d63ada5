package informer

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/inorder"
)

// sends is a server whose answer comes in pieces of one byte.
type sends struct {
	mediaType string
	body      []byte
}

func (s sends) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {s.mediaType}},
		Body: io.NopCloser(iotest.OneByteReader(bytes.NewReader(s.body)))}, nil
}

func (s sends) pods(t testing.TB) (*List[*corev1.Pod], error) {
	listWatch, err := NewListWatch[*corev1.Pod](&rest.Config{Host: "http://prepared", Transport: s},
		corev1.SchemeGroupVersion.WithResource("pods"), ListWatchOptions{})
	require.NoError(t, err)
	return listWatch.List(t.Context(), metav1.ListOptions{})
}

func encoded(t testing.TB, mediaType string, object runtime.Object) []byte {
	return encodedAs(t, mediaType, corev1.SchemeGroupVersion, object)
}

func encodedAs(t testing.TB, mediaType string, version schema.GroupVersion, object runtime.Object) []byte {
	return encodedIn(t, scheme.Scheme, mediaType, version, object)
}

func encodedIn(t testing.TB, names *runtime.Scheme, mediaType string, version schema.GroupVersion, object runtime.Object) []byte {
	codecs := serializer.NewCodecFactory(names)
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), mediaType)
	require.True(t, ok)
	body, err := runtime.Encode(codecs.EncoderForVersion(info.Serializer, version), object)
	require.NoError(t, err)
	return body
}

// The decoder that reads a list piece by piece must not lose, mix up or invent
// anything that apimachinery's decoder of the whole finds.
func TestAListThatComesInPiecesIsTheSameList(t *testing.T) {
	want := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "token", RemainingItemCount: new(int64(5))}}
	for i := range 20 {
		want.Items = append(want.Items, *benchmarkPod(i))
	}
	want.Items[3].Annotations["tricky"] = "\"}],\\\"{[ \u00e9 \\"
	for _, mediaType := range []string{jsonType, protobufType} {
		list, err := sends{mediaType, encoded(t, mediaType, want)}.pods(t)
		require.NoError(t, err, mediaType)
		require.Equal(t, "7", list.ResourceVersion)
		require.Equal(t, "token", list.Continue)
		require.Equal(t, int64(5), *list.Remaining)
		require.Len(t, list.Items, 20)
		object, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), encoded(t, mediaType, want))
		require.NoError(t, err)
		for i, item := range object.(*corev1.PodList).Items {
			require.Equal(t, item, *list.Items[i], mediaType)
		}
	}
}

// A third of a pod may be field sets that thousands of others have, too. But a change
// to a copy must not change the others, nor must a transform that sets or empties those of an object.
func TestEqualFieldSetsAreKeptOnce(t *testing.T) {
	fields := func(list *List[*corev1.Pod], i int) *metav1.FieldsV1 { return list.Items[i].ManagedFields[0].FieldsV1 }
	want := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	for i, set := range []string{`{"f:a":{}}`, `{"f:b":{}}`, `{"f:a":{}}`} {
		pod := benchmarkPod(i)
		pod.ManagedFields = []metav1.ManagedFieldsEntry{
			{Manager: "kubelet", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(set)},
			{Manager: "nobody"},
		}
		want.Items = append(want.Items, *pod)
	}
	for _, mediaType := range []string{jsonType, protobufType} {
		list, err := sends{mediaType, encoded(t, mediaType, want)}.pods(t)
		require.NoError(t, err)
		requireOneText(t, fields(list, 0), fields(list, 2))
		require.Equal(t, `{"f:b":{}}`, fields(list, 1).GetRawString(), mediaType)
		copied := list.Items[0].DeepCopy()
		copied.ManagedFields[0].FieldsV1.GetRawBytes()[3] = 'x'
		fields(list, 0).SetRawString("")
		require.Equal(t, `{"f:a":{}}`, fields(list, 2).GetRawString(), mediaType)
	}
	shared := internedFields{}
	for i := range 2 * maxInterned {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1(strconv.Itoa(i))}}}}
		shared.intern(pod)
		require.Equal(t, strconv.Itoa(i), pod.ManagedFields[0].FieldsV1.GetRawString())
	}
	require.Len(t, shared, maxInterned, "a collection in which all are different must not fill the memory")
}

// requireOneText fails if two field sets are in memory twice.
func requireOneText(t *testing.T, a, b *metav1.FieldsV1) {
	t.Helper()
	require.Same(t, &a.GetRawBytes()[0], &b.GetRawBytes()[0])
}

// Half a list that is taken for a whole one deletes the other half.
func TestAListThatBreaksOffIsAnErrorWhereverItBreaks(t *testing.T) {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	for i := range 3 {
		list.Items = append(list.Items, *benchmarkPod(i))
	}
	for _, mediaType := range []string{jsonType, protobufType} {
		body := encoded(t, mediaType, list)
		if mediaType == jsonType {
			body = bytes.TrimSpace(body)
		}
		for end := 0; end < len(body); end += 1 + end%17 {
			if mediaType == protobufType && end >= len(body)-4 {
				continue // the two empty fields that come after the list
			}
			_, err := sends{mediaType, body[:end]}.pods(t)
			require.Error(t, err, "%s, %d of %d bytes", mediaType, end, len(body))
		}
	}
}

func TestJSONInAnyOrderAndShapeIsRead(t *testing.T) {
	for name, text := range inorder.Map(map[string]string{
		"items first":    `{"apiVersion":"v1","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}],"kind":"PodList","metadata":{"resourceVersion":"7"}}`,
		"white space":    " {\n \"kind\" : \"PodList\" ,\t\"metadata\":{\"resourceVersion\":\"7\"}, \"items\" : [ {\"metadata\":{\"name\":\"a\"}} ,\n{\"metadata\":{\"name\":\"b\"}} ] } \n",
		"unknown fields": `{"kind":"PodList","a":1,"b":[1,{"c":"]}"}],"d":true,"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},{"kind":"Pod","metadata":{"name":"b"}}],"z":-1.5e3}`,
	}) {
		list, err := sends{jsonType, []byte(text)}.pods(t)
		require.NoError(t, err, name)
		require.Equal(t, "7", list.ResourceVersion, name)
		require.Len(t, list.Items, 2, name)
		require.Equal(t, "b", list.Items[1].Name, name)
	}
	list, err := sends{jsonType, []byte(`{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":null}`)}.pods(t)
	require.NoError(t, err)
	require.Empty(t, list.Items)
	for name, text := range inorder.Map(map[string]string{
		"another kind": `{"kind":"SecretList","metadata":{"resourceVersion":"7"},"items":[]}`,
		"other items":  `{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[{"kind":"Secret"}]}`,
		"no list":      `{"kind":"Pod","metadata":{"resourceVersion":"7"}}`,
		"no object":    `[]`,
		"no comma":     `{"kind":"PodList","items":[{} {}]}`,
		"no JSON":      `{"kind":"PodList","items":[{]]}`,
		"no null":      `{"kind":"PodList","items":nonsense}`,
		"no value":     `{"kind":"PodList","a":,"items":[]}`,
		"more text":    `{"kind":"PodList","items":[]} {}`,
		"endless":      `{"kind":"PodList","items":[]}` + strings.Repeat(" ", 3*streamBuffer),
	}) {
		_, err := sends{jsonType, []byte(text)}.pods(t)
		require.Error(t, err, name)
	}
}

// FuzzJSONStream: where a value begins and ends must not depend on the pieces in
// which the text arrives.
func FuzzJSONStream(f *testing.F) {
	f.Add(`{"kind":"PodList","items":[{"metadata":{"name":"a\\\"b"}}]}`, uint64(1))
	f.Add(`{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[{"a":[1,2,{"b":"}"}]}]}`, uint64(7))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		read := func(in io.Reader) string {
			pods, err := newObjectType[*corev1.Pod](podResource, ListWatchOptions{Scheme: scheme.Scheme})
			require.NoError(t, err)
			decoder, stream := &listDecoder[*corev1.Pod]{objectType: pods, interned: internedFields{}}, newJSONStream(in)
			err = decoder.json(stream)
			return fmt.Sprint(len(decoder.list.Items), decoder.list.ResourceVersion, err != nil)
		}
		random := rand.New(rand.NewPCG(seed, 1))
		pieces := readerFunc(func(in io.Reader, p []byte) (int, error) { return in.Read(p[:min(len(p), 1+random.IntN(5))]) })
		if whole, cut := read(strings.NewReader(text)), read(pieces.of(strings.NewReader(text))); whole != cut {
			t.Errorf("in one piece %s, in many %s", whole, cut)
		}
	})
}

type readerFunc func(in io.Reader, p []byte) (int, error)

func (f readerFunc) of(in io.Reader) io.Reader { return reader{in, f} }

type reader struct {
	in io.Reader
	f  readerFunc
}

func (r reader) Read(p []byte) (int, error) { return r.f(r.in, p) }
