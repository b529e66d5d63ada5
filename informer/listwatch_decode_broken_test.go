package informer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

var errNetwork = errors.New("connection reset by peer")

// breaksAfter is a body whose connection breaks after some bytes.
func breaksAfter(body []byte, n int) io.Reader {
	return io.MultiReader(bytes.NewReader(body[:n]), iotest.ErrReader(errNetwork))
}

// smallList is a list of two pods, with a quote and a backslash in their texts.
func smallList() *corev1.PodList {
	return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: []corev1.Pod{
		{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"text": `"\`}}}, {ObjectMeta: metav1.ObjectMeta{Name: "b"}},
	}}
}

// An operator must read that the network broke, and not that the server sends nonsense; and half a
// list that is taken for a whole one deletes the other half.
func TestAListReportsWhatBrokeIt(t *testing.T) {
	for _, c := range []struct {
		mediaType string
		body      []byte
	}{
		{jsonType, encoded(t, jsonType, smallList())}, {protobufType, encoded(t, protobufType, smallList())},
		{jsonType, []byte(`{"kind":"PodList","apiVersion":"v1","items":null}`)},
	} {
		mediaType, body := c.mediaType, c.body
		for n := range len(body) + 1 { // after the last, too: there may have been more
			_, err := reads[*corev1.Pod](t, answers{mediaType, breaksAfter(body, n)}, podResource).List(t.Context(), metav1.ListOptions{})
			require.ErrorIs(t, err, errNetwork, "%s, after %d bytes of %q", mediaType, n, body)
		}
	}
}

// eventsIn is a stream of two events, and where the second one begins.
func eventsIn(t *testing.T, mediaType string) (stream []byte, second int) {
	t.Helper()
	for _, name := range []string{"a", "b"} {
		second = len(stream)
		event := metav1.WatchEvent{Type: "ADDED", Object: apiruntime.RawExtension{Raw: encoded(t, mediaType, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}})}}
		if mediaType == jsonType {
			stream = fmt.Appendf(stream, `{"unknown":[1,{"a":"}"}],"object":%s,"type":"ADDED"}`, bytes.TrimSpace(event.Object.Raw))
			continue
		}
		framed, err := event.Marshal()
		require.NoError(t, err)
		stream = append(binary.BigEndian.AppendUint32(stream, uint32(len(framed))), framed...)
	}
	return stream, second
}

// A watch that ends between two events has ended in good order, and one that ends anywhere else has not. If
// the network broke, it is not the server that ended it.
func TestAWatchReportsWhatBrokeIt(t *testing.T) {
	for _, mediaType := range []string{jsonType, protobufType} {
		stream, second := eventsIn(t, mediaType)
		read := func(body io.Reader) (names []string, err error) {
			watching, err := reads[*corev1.Pod](t, answers{mediaType + ";stream=watch", body}, podResource).Watch(t.Context(), metav1.ListOptions{})
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
			if n == 0 || n == second || n == len(stream) {
				require.Equal(t, io.EOF, err, "%s: a good end", mediaType)
			} else {
				require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%s, after %d bytes", mediaType, n)
			}
		}
	}
}

// closesWith is a server whose answer cannot be closed in good order, and says whether it was closed.
type closesWith struct {
	mediaType string
	body      io.Reader
	err       error
	closed    *bool
}

func (c closesWith) Close() error               { *c.closed = true; return c.err }
func (c closesWith) Read(p []byte) (int, error) { return c.body.Read(p) }
func (c closesWith) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {c.mediaType}}, Body: c}, nil
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
		{"a list in YAML", apiruntime.ContentTypeYAML, list, nil, nil},
	} {
		closed := false
		pods := reads[*corev1.Pod](t, closesWith{c.mediaType, bytes.NewReader(c.body), c.err, &closed}, podResource)
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
	pods := reads[*corev1.Pod](t, closesWith{"text/plain", strings.NewReader("hello"), nil, &closed}, podResource)
	_, err := pods.Watch(t.Context(), metav1.ListOptions{})
	require.Error(t, err)
	require.True(t, closed, "a watch that cannot be read")

	pods = reads[*corev1.Pod](t, closesWith{jsonType, strings.NewReader(""), errNetwork, &closed}, podResource)
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
	watching, err := reads[*corev1.Pod](t, answers{jsonType, strings.NewReader(text)}, podResource).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	_, err = watching.Next()
	require.ErrorContains(t, err, "an ERROR event with a *v1.Pod in place of a Status")
}

// The general decoder reads what has no faster one, page by page like any other.
func TestAListInAnotherFormatIsReadAsAWhole(t *testing.T) {
	read := func(text string) (*List[*corev1.Pod], error) {
		return reads[*corev1.Pod](t, answers{apiruntime.ContentTypeYAML, strings.NewReader(text)}, podResource).List(t.Context(), metav1.ListOptions{})
	}
	list, err := read("kind: PodList\napiVersion: v1\nmetadata: {resourceVersion: '7', continue: more, remainingItemCount: 5}\nitems: [{metadata: {name: a}}]")
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
	_, err = reads[*corev1.Pod](t, answers{apiruntime.ContentTypeYAML, iotest.ErrReader(errNetwork)}, podResource).List(t.Context(), metav1.ListOptions{})
	require.ErrorIs(t, err, errNetwork)
}

// A server that sends protobuf to a reader of unstructured objects must not crash the program.
func TestProtobufThatWasNotAskedForIsRefused(t *testing.T) {
	server := answers{protobufType, bytes.NewReader(encoded(t, protobufType, smallList()))}
	pods, err := NewListWatch[*unstructured.Unstructured](&rest.Config{Host: "http://prepared", Transport: server}, podResource, ListWatchOptions{})
	require.NoError(t, err)
	_, err = pods.List(t.Context(), metav1.ListOptions{})
	require.ErrorContains(t, err, "where a *unstructured.Unstructured was asked for")

	stream, _ := eventsIn(t, protobufType)
	server = answers{protobufType + ";stream=watch", bytes.NewReader(stream)}
	pods, err = NewListWatch[*unstructured.Unstructured](&rest.Config{Host: "http://prepared", Transport: server}, podResource, ListWatchOptions{})
	require.NoError(t, err)
	watching, err := pods.Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	_, err = watching.Next()
	require.ErrorContains(t, err, "where a *unstructured.Unstructured was asked for")
}

// A list whose metadata is lost has no version: it would be polled, and never watched.
func TestAListWhoseMetadataCannotBeReadIsRefused(t *testing.T) {
	text := `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":7},"items":[]}`
	_, err := reads[*corev1.Pod](t, answers{jsonType, strings.NewReader(text)}, podResource).List(t.Context(), metav1.ListOptions{})
	require.ErrorContains(t, err, "resourceVersion")
}
