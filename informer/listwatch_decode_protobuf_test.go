package informer

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// A broken proxy may leave anything of a list. What is left must be the list, or an error that says what is wrong; a part
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
		{"something else", []byte("<h1>gateway time-out</h1>"), 0, "this is not a Kubernetes object in protobuf"},
		{"a kind that is no message", body(field(envelopeType, nonsense), in(item)), 0, "proto"},
		{"metadata that is no message", body(kind, in(field(listMetadata, nonsense), item)), 0, "proto"},
		{"an item that is no message", body(kind, in(item, field(listItems, nonsense))), 0, "proto"},
		{"a stray byte at the end", append(body(kind, in(item)), 9<<3|2), 0, "unexpected EOF"},
		{"half a field at the end", append(body(kind, in(item)), 9<<3|2, 10, 'x'), 0, "unexpected EOF"},
		{"a tag without an end", append(body(kind, in(item)), tooLong...), 0, "overflow"},
		{"a length without an end", append(append(body(kind, in(item)), 9<<3|2), tooLong...), 0, "overflow"},
		{"a field that is longer than the list", body(kind, in(item, []byte{9<<3 | 2, 5}), []byte("12345")), 0, "a field of 5 bytes does not fit into its message"},
		{"a field whose length is outside of the list", body(kind, in(item, []byte{9<<3 | 2}), []byte("\x0512345")), 0, "a field of 5 bytes does not fit into its message"},
		{"a number that is longer than the list", body(kind, in(item, []byte{9<<3 | 1, 1}), make([]byte, 7)), 0, "a field does not fit into its message"},
		{"a group", body(kind, in(item, []byte{9<<3 | 3})), 0, "wire type 3"},
	} {
		list, err := reads[*corev1.Pod](t, answers{protobufType, bytes.NewReader(c.body)}, podResource).List(t.Context(), metav1.ListOptions{})
		if c.want != "" {
			require.ErrorContains(t, err, c.want, c.name)
			continue
		}
		require.NoError(t, err, c.name)
		require.Len(t, list.Items, c.items, c.name)
	}
}

// The limit is what an object may have, and not a byte less.
func TestAnObjectInProtobufMayBeAsLargeAsTheLimit(t *testing.T) {
	for _, c := range []struct {
		size uint32
		want string
	}{{mostObject, io.ErrUnexpectedEOF.Error()}, {mostObject + 1, "an object of 16777217 bytes is too large"}} {
		_, err := allEvents(t, protobufType, append(binary.BigEndian.AppendUint32(nil, c.size), 1))
		require.ErrorContains(t, err, c.want)
	}
}
