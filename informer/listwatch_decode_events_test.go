package informer

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// inFrames are events in protobuf, with these objects.
func inFrames(t *testing.T, objects ...[]byte) []byte {
	t.Helper()
	var stream []byte
	for _, object := range objects {
		framed, err := (&metav1.WatchEvent{Type: "ADDED", Object: apiruntime.RawExtension{Raw: object}}).Marshal()
		require.NoError(t, err)
		stream = append(binary.BigEndian.AppendUint32(stream, uint32(len(framed))), framed...)
	}
	return stream
}

// enveloped is an object in protobuf as a server sends it.
func enveloped(t *testing.T, about apiruntime.TypeMeta, object []byte) []byte {
	t.Helper()
	text, err := (&apiruntime.Unknown{TypeMeta: about, Raw: object}).Marshal()
	require.NoError(t, err)
	return append([]byte(protobufMagic), text...)
}

// allEvents reads pods until an error.
func allEvents(t *testing.T, mediaType string, stream []byte) (pods []*corev1.Pod, err error) {
	t.Helper()
	watching, err := reads[*corev1.Pod](t, answers{mediaType + ";stream=watch", bytes.NewReader(stream)}, podResource).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for {
		event, err := watching.Next()
		if err != nil {
			return pods, err
		}
		pods = append(pods, event.Object)
	}
}

// A server that leaves something out is broken. If the event before were used in its place, a reader would see
// changes that never happened.
func TestNothingOfAnEventIsLeftForTheNext(t *testing.T) {
	first := `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}}`
	for _, c := range []struct{ name, second, want string }{
		{"no type", `{"object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"b"}}}`, `unknown type ""`},
		{"no object", `{"type":"MODIFIED"}`, "decoding the object of a MODIFIED event"},
		{"an object of two bytes", `{"type":"MODIFIED","object":{}}`, "decoding the object of a MODIFIED event"},
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
	about := apiruntime.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	whole := enveloped(t, about, pod)
	for _, c := range []struct {
		name   string
		second []byte
	}{
		{"no kind", enveloped(t, apiruntime.TypeMeta{}, pod)},
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

// The error says what the server sent, so that somebody can find the resource that does not belong to the Go type.
func TestAnObjectOfAnotherKindIsCalledByItsType(t *testing.T) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	want := "the server sent a *v1.Deployment where a *v1.Pod was asked for"
	text := `{"type":"ADDED","object":` + strings.TrimSpace(string(encodedAs(t, jsonType, appsv1.SchemeGroupVersion, deployment))) + `}`
	_, err := allEvents(t, jsonType, []byte(text))
	require.ErrorContains(t, err, want)
	_, err = allEvents(t, protobufType, inFrames(t, encodedAs(t, protobufType, appsv1.SchemeGroupVersion, deployment)))
	require.ErrorContains(t, err, want)
}

// A third of a pod may be field sets that thousands of others have, too. An update of each of them must not bring its
// own copy.
func TestObjectsOfAWatchShareEqualFieldSets(t *testing.T) {
	for _, mediaType := range []string{jsonType, protobufType} {
		var objects [][]byte
		for _, name := range []string{"a", "b"} {
			objects = append(objects, encoded(t, mediaType, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "kubelet", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:a":{}}`)}}}}))
		}
		stream := inFrames(t, objects...)
		if mediaType == jsonType {
			stream = nil
			for _, object := range objects {
				stream = append(append(append(stream, `{"type":"ADDED","object":`...), bytes.TrimSpace(object)...), '}')
			}
		}
		pods, _ := allEvents(t, mediaType, stream)
		require.Len(t, pods, 2, mediaType)
		requireOneText(t, pods[0].ManagedFields[0].FieldsV1, pods[1].ManagedFields[0].FieldsV1)
	}
}
