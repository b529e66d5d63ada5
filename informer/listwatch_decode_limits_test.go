package informer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// answers is a server that sends one body to whatever it is asked.
type answers struct {
	mediaType string
	body      io.Reader
}

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK,
		Header: http.Header{"Content-Type": {a.mediaType}}, Body: io.NopCloser(a.body)}, nil
}

func reads[T Object](
	t testing.TB, server http.RoundTripper, resource schema.GroupVersionResource,
) *ListWatch[T] {
	listWatch, err := NewListWatch[T](&rest.Config{Host: "http://prepared", Transport: server},
		resource, ListWatchOptions{})
	require.NoError(t, err)
	return listWatch
}

var podResource = corev1.SchemeGroupVersion.WithResource("pods")

// A limit that is for one object must not be one for a cluster.
func TestAListMayBeLargerThanAnObjectMay(t *testing.T) {
	list := &corev1.PodList{}
	for i := range mostObject>>20 + 1 {
		pod := benchmarkPod(i)
		pod.Annotations["large"] = strings.Repeat("x", 1<<20)
		list.Items = append(list.Items, *pod)
	}
	for _, mediaType := range []string{jsonType, protobufType} {
		body := encoded(t, mediaType, list)
		require.Greater(t, len(body), mostObject)
		got, err := reads[*corev1.Pod](t, answers{mediaType, bytes.NewReader(body)},
			podResource).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err, mediaType)
		require.Len(t, got.Items, len(list.Items))
	}
}

// One broken server must not take the memory of the whole program.
func TestAnObjectTakesNoMoreMemoryThanItsLimit(t *testing.T) {
	for _, length := range []uint32{mostObject, mostObject + 1} { // and one byte comes
		body := bytes.NewReader(append(binary.BigEndian.AppendUint32(nil, length), 1))
		watching, err := reads[*corev1.Pod](t, answers{protobufType + ";stream=watch", body},
			podResource).Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = watching.Next()
		runtime.ReadMemStats(&after)
		require.Error(t, err)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20),
			"memory for what a server announces, before it comes")
	}
}

// A body that is not read to its end costs the connection, and each list would
// begin with a handshake.
func TestManyListsDoNotTakeAConnectionEach(t *testing.T) {
	for _, mediaType := range []string{jsonType, protobufType} {
		list := &corev1.PodList{}
		for i := range 200 {
			list.Items = append(list.Items, *benchmarkPod(i))
		}
		body := encoded(t, mediaType, list)
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter,
			_ *http.Request) {
			w.Header().Set("Content-Type", mediaType)
			_, _ = w.Write(body)
			w.(http.Flusher).Flush() // so the last chunk comes after the list
		}))
		var connections atomic.Int32
		server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				connections.Add(1)
			}
		}
		server.Start()
		pods, err := NewListWatch[*corev1.Pod](&rest.Config{Host: server.URL}, podResource,
			ListWatchOptions{})
		require.NoError(t, err)
		for range 10 {
			_, err := pods.List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
		}
		server.Close()
		// A busy machine may need another one: net/http gives a connection up if the goroutine that has
		// written the request does not run for 50 ms (maxWriteWaitBeforeConnReuse in
		// net/http/transport.go).
		require.Less(t, connections.Load(), int32(5), mediaType)
	}
}

// Both kinds are called Event, and one decodes as the other into objects
// without a message.
func TestTheSameKindOfAnotherGroupIsRefused(t *testing.T) {
	event := eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e"}, Note: "lost in the other"}
	list := &eventsv1.EventList{Items: []eventsv1.Event{event}}
	want := "the server sent a events.k8s.io/v1 Event where a v1 Event was asked for"
	for _, mediaType := range []string{jsonType, protobufType} {
		resource := eventsv1.SchemeGroupVersion.WithResource("events")
		body := encodedAs(t, mediaType, eventsv1.SchemeGroupVersion, list)
		_, err := reads[*corev1.Event](t, answers{mediaType, bytes.NewReader(body)},
			resource).List(t.Context(), metav1.ListOptions{})
		require.ErrorContains(t, err, want, mediaType)

		framed := &metav1.WatchEvent{Type: "ADDED", Object: apiruntime.RawExtension{Raw: encodedAs(t,
			mediaType, eventsv1.SchemeGroupVersion, &event)}}
		if body = fmt.Appendf(nil, `{"type":"ADDED","object":%s}`,
			framed.Object.Raw); mediaType == protobufType {
			message, err := framed.Marshal()
			require.NoError(t, err)
			body = append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
		}
		watching, err := reads[*corev1.Event](t, answers{mediaType + ";stream=watch",
			bytes.NewReader(body)}, resource).Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		_, err = watching.Next()
		require.ErrorContains(t, err, want, mediaType)
	}
}

// A CustomResourceDefinition chooses how its list is called.
func TestAListMayHaveAKindOfItsOwn(t *testing.T) {
	read := func(text string) error {
		_, err := reads[*corev1.Pod](t, answers{jsonType, strings.NewReader(text)},
			podResource).List(t.Context(), metav1.ListOptions{})
		return err
	}
	require.NoError(t, read(`{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Pod"}],"kind":"PodCollection"}`))
	for name, text := range inorder.Map(map[string]string{
		"another type's list": `{"items":[],"kind":"SecretList"}`,
		"another type's item": `{"items":[{"kind":"Gadget"}],"kind":"GadgetCollection"}`,
		"another version":     `{"apiVersion":"v2","items":[],"kind":"PodCollection"}`,
		"a refusal":           `{"apiVersion":"v1","kind":"Status","status":"Failure"}`,
		"no items":            `{"apiVersion":"v1","kind":"PodCollection"}`,
		"one object":          `{"items":[],"kind":"Pod"}`,
		"no kind":             `{"items":[]}`,
	}) {
		require.ErrorContains(t, read(text), "where a *v1.Pod was asked for", name)
	}
}

// field is one of a protobuf message: bytes with their length.
func field(number byte, content []byte) []byte {
	return append(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(content))), content...)
}

// A newer server may send fields of any type; a broken one lengths that lie.
func TestWhatIsUnknownInProtobufIsSkippedAndWhatDoesNotFitIsRefused(t *testing.T) {
	about, err := (&apiruntime.TypeMeta{APIVersion: "v1", Kind: "PodList"}).Marshal()
	require.NoError(t, err)
	pod, err := benchmarkPod(0).Marshal()
	require.NoError(t, err)
	read := func(parts ...[]byte) (*List[*corev1.Pod], error) {
		body := append([]byte(protobufMagic), bytes.Join(parts, nil)...)
		return reads[*corev1.Pod](t, answers{protobufType, bytes.NewReader(body)},
			podResource).List(t.Context(), metav1.ListOptions{})
	}
	unknown := [][]byte{{9 << 3, 0xff, 1}, {9<<3 | 1, 1, 2, 3, 4, 5, 6, 7, 8}, field(9, []byte("x")),
		{9<<3 | 5, 1, 2, 3, 4}}
	item := field(listItems, pod)
	list, err := read(field(envelopeType, about), field(envelopeBytes, append(bytes.Join(unknown,
		nil), item...)))
	require.NoError(t, err)
	require.Len(t, list.Items, 1)

	_, err = read(field(envelopeType, about), append([]byte{envelopeBytes<<3 | 2, 12}, item...))
	require.ErrorContains(t, err, "does not fit", "an item that reaches beyond its list")
	_, err = read(field(envelopeType, about), field(envelopeBytes, []byte{9<<3 | 1, 1}), make([]byte,
		8))
	require.ErrorContains(t, err, "does not fit", "a number that reaches beyond its list")
	_, err = read(field(envelopeType, about))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "an envelope without a list")
}

// A list may have a million small objects. The buffer must stay as large as one of them.
func TestABufferIsAsLargeAsTheLargestValue(t *testing.T) {
	message, err := (&metav1.ListMeta{ResourceVersion: "12345678"}).Marshal()
	require.NoError(t, err)
	messages := newProtobufStream(strings.NewReader(strings.Repeat(string(message), 1000)))
	for range 1000 {
		require.NoError(t, messages.decode(int64(len(message)), &metav1.ListMeta{}))
	}
	require.Len(t, messages.buffer, len(message))
}

// A proxy that cuts a part out of an answer leaves something that looks like JSON. It must not be
// taken for a list.
func TestWhatIsNotQuiteJSONIsRefused(t *testing.T) {
	for _, text := range []string{
		`{"kind":"PodList","apiVersion":"v1","items":[],"x":}`,
		`{"kind":"PodList","apiVersion":"v1","items":[],"x":]}`,
		`{"kind":"PodList","apiVersion":"v1","items":[],"x"::1}`,
		`{"kind":"PodList","apiVersion":"v1","items":[],"x":,"y":1}`,
		`{"kind":"PodList";"apiVersion":"v1","items":[]}`,
		`{"kind";"PodList","apiVersion":"v1","items":[]}`,
		`["kind":"PodList","apiVersion":"v1","items":[]}`,
		`{"kind":"PodList","apiVersion":"v1","items":{}}`,
		`{"kind":"PodList","apiVersion":"v1","items":nil}`,
		`{1:2,"kind":"PodList","apiVersion":"v1","items":[]}`,
		`{"kind":"PodList","apiVersion":"v1","items":[]} {}`, `{"kind":7,"items":[]}`,
		`{"kind":"PodList","apiVersion":7,"items":[]}`,
	} {
		_, err := reads[*corev1.Pod](t, answers{jsonType, strings.NewReader(text)},
			podResource).List(t.Context(), metav1.ListOptions{})
		require.ErrorContains(t, err, "decoding the answer", text)
	}
}

// A ConfigMap may have a megabyte. One that is larger than what is read at once must be read all
// the same, in a list and in a watch.
func TestAnObjectMayBeLargerThanWhatIsReadAtOnce(t *testing.T) {
	large := strings.Repeat("x", 3*streamBuffer)
	text := fmt.Sprintf(`{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}},{"metadata":{"name":%q}}]}`, large) + strings.Repeat(" ", streamBuffer/2)
	list, err := reads[*corev1.Pod](t, answers{jsonType, strings.NewReader(text)},
		podResource).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, large, list.Items[1].Name)
	require.Equal(t, "a", list.Items[0].Name)
}

// A broken proxy may leave anything of a list. What is left must be the list, or an error that says
// what is wrong; a part
// of it that is taken for the whole deletes the rest.
func TestAListInProtobufIsWholeOrRefused(t *testing.T) {
	about, err := (&apiruntime.TypeMeta{APIVersion: "v1", Kind: "PodList"}).Marshal()
	require.NoError(t, err)
	pod, err := (&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}).Marshal()
	require.NoError(t, err)
	kind, item := field(envelopeType, about), field(listItems, pod)
	body := func(parts ...[]byte) []byte {
		return slices.Concat(append([][]byte{[]byte(protobufMagic)}, parts...)...)
	}
	in := func(parts ...[]byte) []byte { return field(envelopeBytes, slices.Concat(parts...)) }
	tooLong := bytes.Repeat([]byte{0xff}, 11) // for a number
	nonsense := []byte{1, 2, 3}
	for _, c := range []struct {
		name  string
		body  []byte
		items int
		want  string // nothing if it is a list
	}{
		{"a list", body(kind, in(item, item)), 2, ""},
		{"an empty list", body(kind, in()), 0, ""},
		{"an empty list, and more after it", body(kind, in(), field(9, []byte("x"))), 0, ""},
		{"an unknown field before the list", body(field(9, []byte("new")), kind, in(item)), 1, ""},
		{"an unknown field that is empty", body(kind, in(item, field(9, nil))), 1, ""},
		{"something else", []byte("<h1>gateway time-out</h1>"), 0,
			"this is not a Kubernetes object in protobuf"},
		{"a kind that is no message", body(field(envelopeType, nonsense), in(item)), 0, "proto"},
		{"metadata that is no message", body(kind, in(field(listMetadata, nonsense), item)), 0, "proto"},
		{"an item that is no message", body(kind, in(item, field(listItems, nonsense))), 0, "proto"},
		{"a stray byte at the end", append(body(kind, in(item)), 9<<3|2), 0, "unexpected EOF"},
		{"half a field at the end", append(body(kind, in(item)), 9<<3|2, 10, 'x'), 0, "unexpected EOF"},
		{"a tag without an end", append(body(kind, in(item)), tooLong...), 0, "overflow"},
		{"a length without an end", append(append(body(kind, in(item)), 9<<3|2), tooLong...), 0,
			"overflow"},
		{"a field that is longer than the list", body(kind, in(item, []byte{9<<3 | 2, 5}),
			[]byte("12345")), 0, "a field of 5 bytes does not fit into its message"},
		{"a field whose length is outside of the list", body(kind, in(item, []byte{9<<3 | 2}),
			[]byte("\x0512345")), 0, "a field of 5 bytes does not fit into its message"},
		{"a number that is longer than the list", body(kind, in(item, []byte{9<<3 | 1, 1}), make([]byte,
			7)), 0, "a field does not fit into its message"},
		{"a group", body(kind, in(item, []byte{9<<3 | 3})), 0, "wire type 3"},
	} {
		list, err := reads[*corev1.Pod](t, answers{protobufType, bytes.NewReader(c.body)},
			podResource).List(t.Context(), metav1.ListOptions{})
		if c.want != "" {
			require.ErrorContains(t, err, c.want, c.name)
			continue
		}
		require.NoError(t, err, c.name)
		require.Len(t, list.Items, c.items, c.name)
	}
}

// endless is a server's text that goes on for a gigabyte in one value.
type endless struct{ read int64 }

func (e *endless) Read(into []byte) (int, error) {
	if e.read > 1<<30 {
		return 0, io.EOF
	}
	for i := range into {
		into[i] = 'x'
	}
	e.read += int64(len(into))
	return len(into), nil
}

// The same in JSON: a value that doesn't end is given up, and not read into memory.
func TestAValueInJSONHasALimit(t *testing.T) {
	const item = `{"metadata":{"name":"a"}}`
	for _, begin := range []string{
		`{"kind":"PodList","apiVersion":"v1","items":[` + item + `,{"metadata":{"name":"`,
		`{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"`,
		`{"kind":"`,
		`{"new field":"`,
		`{"`,
	} {
		rest := &endless{}
		_, err := reads[*corev1.Pod](t, answers{jsonType, io.MultiReader(strings.NewReader(begin), rest)},
			podResource).List(t.Context(), metav1.ListOptions{})
		require.ErrorContains(t, err, "too large", begin)
		require.Less(t, rest.read, int64(3*mostObject), begin)
	}
	rest := &endless{}
	body := io.MultiReader(strings.NewReader(
		`{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}}`+
			`{"type":"ADDED","object":{"kind":"`), rest)
	watching, err := reads[*corev1.Pod](t, answers{jsonType, body}, podResource).
		Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	_, err = watching.Next()
	require.NoError(t, err)
	_, err = watching.Next()
	require.ErrorContains(t, err, "too large")
	require.Less(t, rest.read, int64(3*mostObject))
}
