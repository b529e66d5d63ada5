package informer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// sends is a server whose answer comes in pieces of one byte.
type sends struct {
	mediaType string
	body      []byte
}

func (s sends) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK,
		Header: http.Header{"Content-Type": {s.mediaType}},
		Body:   io.NopCloser(iotest.OneByteReader(bytes.NewReader(s.body)))}, nil
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

func encodedAs(
	t testing.TB, mediaType string, version schema.GroupVersion, object runtime.Object,
) []byte {
	return encodedIn(t, scheme.Scheme, mediaType, version, object)
}

func encodedIn(
	t testing.TB, names *runtime.Scheme, mediaType string, version schema.GroupVersion,
	object runtime.Object,
) []byte {
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
	want := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "token",
		RemainingItemCount: new(int64(5))}}
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
		"items first": `{"apiVersion":"v1","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}],"kind":"PodList","metadata":{"resourceVersion":"7"}}`,
		"white space": " {\n \"kind\" : \"PodList\" ,\t\"metadata\":{\"resourceVersion\":\"7\"}, " +
			"\"items\" : [ {\"metadata\":{\"name\":\"a\"}} ,\n{\"metadata\":{\"name\":\"b\"}} ] } \n",
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
	}) {
		_, err := sends{jsonType, []byte(text)}.pods(t)
		require.Error(t, err, name)
	}
}

// FuzzJSONStream: where a value begins and ends must not depend on the pieces in
// which the text arrives.
func FuzzJSONStream(f *testing.F) {
	f.Add(`{"kind":"PodList","items":[{"metadata":{"name":"a\\\"b"}}]}`, uint64(1))
	f.Add(`{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[{"a":[1,2,{"b":"}"}]}]}`,
		uint64(7))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		read := func(in io.Reader) string {
			pods, err := newObjectType[*corev1.Pod](podResource, ListWatchOptions{Scheme: scheme.Scheme})
			require.NoError(t, err)
			decoder := &listDecoder[*corev1.Pod]{objectType: pods}
			err = decoder.json(in)
			return fmt.Sprint(len(decoder.list.Items), decoder.list.ResourceVersion, err != nil)
		}
		random := rand.New(rand.NewPCG(seed, 1))
		pieces := readerFunc(func(in io.Reader, p []byte) (int, error) {
			return in.Read(p[:min(len(p), 1+random.IntN(5))])
		})
		if whole, cut := read(strings.NewReader(text)),
			read(pieces.of(strings.NewReader(text))); whole != cut {
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

// inFrames are events in protobuf, with these objects.
func inFrames(t *testing.T, objects ...[]byte) []byte {
	t.Helper()
	var stream []byte
	for _, object := range objects {
		framed, err := (&metav1.WatchEvent{Type: "ADDED",
			Object: runtime.RawExtension{Raw: object}}).Marshal()
		require.NoError(t, err)
		stream = append(binary.BigEndian.AppendUint32(stream, uint32(len(framed))), framed...)
	}
	return stream
}

// enveloped is an object in protobuf as a server sends it.
func enveloped(t *testing.T, about runtime.TypeMeta, object []byte) []byte {
	t.Helper()
	text, err := (&runtime.Unknown{TypeMeta: about, Raw: object}).Marshal()
	require.NoError(t, err)
	return append([]byte(protobufMagic), text...)
}

// allEvents reads pods until an error.
func allEvents(t *testing.T, mediaType string, stream []byte) (pods []*corev1.Pod, err error) {
	t.Helper()
	watching, err := reads[*corev1.Pod](t, answers{mediaType + ";stream=watch",
		bytes.NewReader(stream)}, podResource).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for {
		event, err := watching.Next()
		if err != nil {
			return pods, err
		}
		pods = append(pods, event.Object)
	}
}

// A server that leaves something out is broken. If the event before were used in its place, a
// reader would see changes that never happened.
func TestNothingOfAnEventIsLeftForTheNext(t *testing.T) {
	first := `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}}`
	for _, c := range []struct{ name, second, want string }{
		{"no type", `{"object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"b"}}}`,
			`unknown type ""`},
		{"no object", `{"type":"MODIFIED"}`, "decoding the object of a MODIFIED event"},
		{"an object of two bytes", `{"type":"MODIFIED","object":{}}`,
			"decoding the object of a MODIFIED event"},
		{"an object with a mistake", `{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":7}}`, "decoding the object of a MODIFIED event"},
		{"a Status that is none", `{"type":"ERROR","object":[]}`, "decoding the object of a ERROR event"},
	} {
		pods, err := allEvents(t, jsonType, []byte(first+c.second))
		require.ErrorContains(t, err, c.want, c.name)
		require.Len(t, pods, 1, c.name)
		_, err = allEvents(t, jsonType, []byte(c.second))
		require.ErrorContains(t, err, c.want, "%s, at the beginning", c.name)
	}

	pod, err := (&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}).Marshal()
	require.NoError(t, err)
	about := runtime.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	whole := enveloped(t, about, pod)
	for _, c := range []struct {
		name   string
		second []byte
	}{
		{"no kind", enveloped(t, runtime.TypeMeta{}, pod)},
		{"no word about its kind", append([]byte(protobufMagic), field(envelopeBytes, pod)...)},
		{"an object that is no message", enveloped(t, about, []byte{1, 2, 3})},
		{"an envelope that is no message", append([]byte(protobufMagic), 1, 2, 3)},
		{"nothing but the magic", []byte(protobufMagic)},
		{"less than the magic", []byte("k8")},
		{"nothing", nil},
	} {
		pods, err := allEvents(t, protobufType, inFrames(t, whole, c.second))
		require.NotErrorIs(t, err, io.EOF, "%s: this is no good end", c.name)
		require.Len(t, pods, 1, c.name)
	}
}

// What is in an event besides its type and its object is for newer readers.
func TestUnknownFieldsOfAnEventAreSkipped(t *testing.T) {
	text := `{"new":{"kind":"Pod"},"object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}},"newer":[1,"}"],"type":"ADDED","newest":null}`
	pods, _ := allEvents(t, jsonType, []byte(text))
	require.Len(t, pods, 1)
	require.Equal(t, "a", pods[0].Name)
}

// The error says what the server sent, so that somebody can find the resource that does not belong
// to the Go type.
func TestAnObjectOfAnotherKindIsCalledByItsType(t *testing.T) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	want := "the server sent a *v1.Deployment where a *v1.Pod was asked for"
	text := `{"type":"ADDED","object":` + strings.TrimSpace(string(encodedAs(t, jsonType,
		appsv1.SchemeGroupVersion, deployment))) + `}`
	_, err := allEvents(t, jsonType, []byte(text))
	require.ErrorContains(t, err, want)
	_, err = allEvents(t, protobufType, inFrames(t, encodedAs(t, protobufType,
		appsv1.SchemeGroupVersion, deployment)))
	require.ErrorContains(t, err, want)
}

var errNetwork = errors.New("connection reset by peer")

// breaksAfter is a body whose connection breaks after some bytes.
func breaksAfter(body []byte, n int) io.Reader {
	return io.MultiReader(bytes.NewReader(body[:n]), iotest.ErrReader(errNetwork))
}

// smallList is a list of two pods, with a quote and a backslash in their texts.
func smallList() *corev1.PodList {
	return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: []corev1.Pod{
		{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"text": `"\`}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "b"}},
	}}
}

// An operator must read that the network broke, and not that the server sends nonsense; and half a
// list that is taken for a whole one deletes the other half.
func TestAListReportsWhatBrokeIt(t *testing.T) {
	for _, c := range []struct {
		mediaType string
		body      []byte
	}{
		{jsonType, encoded(t, jsonType, smallList())}, {protobufType, encoded(t, protobufType,
			smallList())},
		{jsonType, []byte(`{"kind":"PodList","apiVersion":"v1","items":null}`)},
	} {
		mediaType, body := c.mediaType, c.body
		for n := range len(body) + 1 { // after the last, too: there may have been more
			_, err := reads[*corev1.Pod](t, answers{mediaType, breaksAfter(body, n)},
				podResource).List(t.Context(), metav1.ListOptions{})
			require.ErrorIs(t, err, errNetwork, "%s, after %d bytes of %q", mediaType, n, body)
		}
	}
}

// eventsIn is a stream of two events, and where the second one begins.
func eventsIn(t *testing.T, mediaType string) (stream []byte, second int) {
	t.Helper()
	for _, name := range []string{"a", "b"} {
		second = len(stream)
		event := metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: encoded(t,
			mediaType, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}})}}
		if mediaType == jsonType {
			stream = fmt.Appendf(stream, `{"unknown":[1,{"a":"}"}],"object":%s,"type":"ADDED"}`,
				bytes.TrimSpace(event.Object.Raw))
			continue
		}
		framed, err := event.Marshal()
		require.NoError(t, err)
		stream = append(binary.BigEndian.AppendUint32(stream, uint32(len(framed))), framed...)
	}
	return stream, second
}

// A watch that ends between two events has ended in good order, and one that ends anywhere else has
// not, unless it is behind the length of an event: apimachinery does not tell these apart. The next
// watch brings that event. If the network broke, it is not the server that ended it.
func TestAWatchReportsWhatBrokeIt(t *testing.T) {
	for _, mediaType := range []string{jsonType, protobufType} {
		stream, second := eventsIn(t, mediaType)
		read := func(body io.Reader) (names []string, err error) {
			watching, err := reads[*corev1.Pod](t, answers{mediaType + ";stream=watch", body},
				podResource).Watch(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			for {
				event, err := watching.Next()
				if err != nil {
					return names, err
				}
				names = append(names, event.Object.Name)
			}
		}
		for n := range len(stream) + 1 {
			want := []string{}
			if n >= second {
				want = append(want, "a")
			}
			if n == len(stream) {
				want = append(want, "b")
			}
			names, err := read(breaksAfter(stream, n))
			require.ErrorIs(t, err, errNetwork, "%s, after %d bytes", mediaType, n)
			require.Equal(t, want, append([]string{}, names...), "%s, after %d bytes", mediaType, n)
			names, err = read(bytes.NewReader(stream[:n]))
			require.Equal(t, want, append([]string{}, names...), "%s, after %d bytes", mediaType, n)
			lengthOnly := mediaType == protobufType && (n == 4 || n == second+4)
			if n == 0 || n == second || n == len(stream) || lengthOnly {
				require.Equal(t, io.EOF, err, "%s: a good end", mediaType)
			} else {
				require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%s, after %d bytes", mediaType, n)
			}
		}
	}
}

// closesWith is a server whose answer cannot be closed in good order, and says whether it was
// closed.
type closesWith struct {
	mediaType string
	body      io.Reader
	err       error
	closed    *bool
}

func (c closesWith) Close() error               { *c.closed = true; return c.err }
func (c closesWith) Read(p []byte) (int, error) { return c.body.Read(p) }
func (c closesWith) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK,
		Header: http.Header{"Content-Type": {c.mediaType}}, Body: c}, nil
}

// An answer that is not closed keeps its connection, and a thousand of them all there are.
func TestEachAnswerIsClosed(t *testing.T) {
	list := encoded(t, jsonType, smallList())
	for _, c := range []struct {
		name, mediaType string
		body            []byte
		err, want       error
	}{
		{"a list", jsonType, list, nil, nil},
		{"a list that cannot be closed", jsonType, list, errNetwork, errNetwork},
		{"half a list that cannot be closed", jsonType, list[:9], errNetwork, io.ErrUnexpectedEOF},
		{"a list in YAML", runtime.ContentTypeYAML, list, nil, nil},
	} {
		closed := false
		pods := reads[*corev1.Pod](t, closesWith{c.mediaType, bytes.NewReader(c.body), c.err, &closed},
			podResource)
		got, err := pods.List(t.Context(), metav1.ListOptions{})
		require.ErrorIs(t, err, c.want, c.name)
		require.True(t, closed, c.name)
		if c.want == nil {
			require.Len(t, got.Items, 2, c.name)
			require.Equal(t, "b", got.Items[1].Name, c.name)
			require.Equal(t, "7", got.ResourceVersion, c.name)
		}
	}
	closed := false
	pods := reads[*corev1.Pod](t, closesWith{"text/plain", strings.NewReader("hello"), nil, &closed},
		podResource)
	_, err := pods.Watch(t.Context(), metav1.ListOptions{})
	require.Error(t, err)
	require.True(t, closed, "a watch that cannot be read")

	pods = reads[*corev1.Pod](t, closesWith{jsonType, strings.NewReader(""), errNetwork, &closed},
		podResource)
	watching, err := pods.Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.ErrorIs(t, watching.Close(), errNetwork)
}

// A proxy may leave the content type out, or send something in place of a Status.
func TestAnAnswerThatMakesNoSenseIsAnErrorAndNoCrash(t *testing.T) {
	pods := reads[*corev1.Pod](t, answers{"", strings.NewReader("{}")}, podResource)
	_, err := pods.List(t.Context(), metav1.ListOptions{})
	require.ErrorContains(t, err, `reading the answer's content type ""`)
	_, err = pods.Watch(t.Context(), metav1.ListOptions{})
	require.ErrorContains(t, err, `reading the answer's content type ""`)
	text := `{"type":"ERROR","object":{"kind":"Pod","apiVersion":"v1"}}`
	watching, err := reads[*corev1.Pod](t, answers{jsonType, strings.NewReader(text)},
		podResource).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	_, err = watching.Next()
	require.ErrorContains(t, err, "an ERROR event with a *v1.Pod in place of a Status")
}

// The general decoder reads what has no faster one, page by page like any other.
func TestAListInAnotherFormatIsReadAsAWhole(t *testing.T) {
	read := func(text string) (*List[*corev1.Pod], error) {
		return reads[*corev1.Pod](t, answers{runtime.ContentTypeYAML, strings.NewReader(text)},
			podResource).List(t.Context(), metav1.ListOptions{})
	}
	list, err := read("kind: PodList\napiVersion: v1\nmetadata: {resourceVersion: '7', continue: " +
		"more, remainingItemCount: 5}\nitems: [{metadata: {name: a}}]")
	require.NoError(t, err)
	require.Equal(t, "more", list.Continue)
	require.EqualValues(t, 5, *list.Remaining)
	require.Equal(t, "a", list.Items[0].Name)
	_, err = read("kind: SecretList\napiVersion: v1\nitems: [{metadata: {name: a}}]")
	require.ErrorContains(t, err, "the server sent a *v1.Secret where a *v1.Pod was asked for")
	_, err = read("kind: Pod\napiVersion: v1")
	require.ErrorContains(t, err, "a *v1.Pod, which is not a list")
	_, err = read("[")
	require.ErrorContains(t, err, "decoding the answer")
	_, err = reads[*corev1.Pod](t, answers{runtime.ContentTypeYAML, iotest.ErrReader(errNetwork)},
		podResource).List(t.Context(), metav1.ListOptions{})
	require.ErrorIs(t, err, errNetwork)
}

// A server that sends protobuf to a reader of unstructured objects must not crash the program.
func TestProtobufThatWasNotAskedForIsRefused(t *testing.T) {
	server := answers{protobufType, bytes.NewReader(encoded(t, protobufType, smallList()))}
	pods, err := NewListWatch[*unstructured.Unstructured](&rest.Config{Host: "http://prepared",
		Transport: server}, podResource, ListWatchOptions{})
	require.NoError(t, err)
	_, err = pods.List(t.Context(), metav1.ListOptions{})
	require.ErrorContains(t, err, "where a *unstructured.Unstructured was asked for")

	stream, _ := eventsIn(t, protobufType)
	server = answers{protobufType + ";stream=watch", bytes.NewReader(stream)}
	pods, err = NewListWatch[*unstructured.Unstructured](&rest.Config{Host: "http://prepared",
		Transport: server}, podResource, ListWatchOptions{})
	require.NoError(t, err)
	watching, err := pods.Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	_, err = watching.Next()
	require.ErrorContains(t, err, "where a *unstructured.Unstructured was asked for")
}

// A list whose metadata is lost has no version: it would be polled, and never watched.
func TestAListWhoseMetadataCannotBeReadIsRefused(t *testing.T) {
	text := `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":7},"items":[]}`
	_, err := reads[*corev1.Pod](t, answers{jsonType, strings.NewReader(text)},
		podResource).List(t.Context(), metav1.ListOptions{})
	require.ErrorContains(t, err, "resourceVersion")
}
