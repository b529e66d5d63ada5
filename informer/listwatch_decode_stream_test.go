package informer

import (
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// jsonValues are values of all shapes, with all that may be taken for their end.
var jsonValues = []string{
	`1`, `-1.5e3`, `true`, `null`, `""`, `[]`, `{}`, `"a"`, `"\""`, `"\\"`, `"\\\""`, `"a\\"`, `"\u00e9 é"`, `"}],{[:"`, `" , "`,
	`{"a":[1,{"b":"\"}"}],"c":{}}`, `[[1,2],[3],"]"]`, `{"a" : 1 , "b":[ ] }`, `"a long text in which nothing happens"`,
}

// Where a value ends must not depend on what comes after it, or on where a read happens to stop: an object that is cut
// in the wrong place is another object.
func TestAValueEndsWhereItEndsHoweverItArrives(t *testing.T) {
	for _, space := range []string{"", " ", "\n", "\t", "\r", " \r\n\t"} {
		text := space + "[" + space + strings.Join(jsonValues, space+","+space) + space + "]" + space
		for buffer := 1; buffer < 20; buffer++ {
			for _, slow := range []bool{false, true} {
				stream := &jsonStream{in: strings.NewReader(text), buffer: make([]byte, buffer)}
				if slow {
					stream.in = iotest.OneByteReader(stream.in)
				}
				var got []string
				err := stream.elements(func() error {
					value, err := stream.value()
					got = append(got, string(value))
					return err
				})
				require.NoError(t, err, "%q, byte by byte: %v, %d at a time", space, slow, buffer)
				require.Equal(t, jsonValues, got, "%q, byte by byte: %v, %d at a time", space, slow, buffer)
				require.NoError(t, stream.finish())
			}
		}
	}
}

// A watch runs for hours and brings millions of small objects. Its buffer must stay as large as they are.
func TestABufferIsAsLargeAsTheLargestValue(t *testing.T) {
	text := "[" + strings.Repeat(`"12345678",`, 10_000) + "1]"
	stream := &jsonStream{in: strings.NewReader(text), buffer: make([]byte, 16)}
	values := 0
	require.NoError(t, stream.elements(func() error {
		values++
		_, err := stream.value()
		return err
	}))
	require.Equal(t, 10_001, values)
	require.LessOrEqual(t, len(stream.buffer), 32)

	message, err := (&metav1.ListMeta{ResourceVersion: "12345678"}).Marshal()
	require.NoError(t, err)
	messages := newProtobufStream(strings.NewReader(strings.Repeat(string(message), 1000)))
	for range 1000 {
		require.NoError(t, messages.decode(int64(len(message)), &metav1.ListMeta{}))
	}
	require.Len(t, messages.buffer, len(message))
}

// Most of the bytes of a list are in strings, which are passed over without looking at each of them.
func TestTheEndOfAPlainTextIsFound(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
	}{{``, 0}, {`abc`, 3}, {`abc"`, 3}, {`"`, 0}, {`\"`, 0}, {`a\"b"`, 1}, {`a"\`, 1}, {`ab\`, 2}} {
		require.Equal(t, c.want, plain([]byte(c.text)), c.text)
	}
	for c := range 256 {
		require.Equal(t, strings.ContainsRune(" \n\t\r", rune(c)), isSpace(byte(c)), "%q", c)
	}
}

// A proxy that cuts a part out of an answer leaves something that looks like JSON. It must not be taken for a list.
func TestWhatIsNotQuiteJSONIsRefused(t *testing.T) {
	for _, text := range []string{
		`{"kind":"PodList","apiVersion":"v1","items":[],"x":}`, `{"kind":"PodList","apiVersion":"v1","items":[],"x":]}`,
		`{"kind":"PodList","apiVersion":"v1","items":[],"x"::1}`, `{"kind":"PodList","apiVersion":"v1","items":[],"x":,"y":1}`,
		`{"kind":"PodList";"apiVersion":"v1","items":[]}`, `{"kind";"PodList","apiVersion":"v1","items":[]}`,
		`["kind":"PodList","apiVersion":"v1","items":[]}`, `{"kind":"PodList","apiVersion":"v1","items":{}}`,
		`{"kind":"PodList","apiVersion":"v1","items":nil}`, `{1:2,"kind":"PodList","apiVersion":"v1","items":[]}`,
		`{"kind":"PodList","apiVersion":"v1","items":[]} {}`, `{"kind":7,"items":[]}`, `{"kind":"PodList","apiVersion":7,"items":[]}`,
	} {
		_, err := reads[*corev1.Pod](t, answers{jsonType, strings.NewReader(text)}, podResource).List(t.Context(), metav1.ListOptions{})
		require.ErrorContains(t, err, "decoding the answer", text)
	}
}

// A ConfigMap may have a megabyte. One that is larger than what is read at once must be read all the same, in a list
// and in a watch.
func TestAnObjectMayBeLargerThanWhatIsReadAtOnce(t *testing.T) {
	large := strings.Repeat("x", 3*streamBuffer)
	text := fmt.Sprintf(`{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}},{"metadata":{"name":%q}}]}`, large) + strings.Repeat(" ", streamBuffer/2)
	list, err := reads[*corev1.Pod](t, answers{jsonType, strings.NewReader(text)}, podResource).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, large, list.Items[1].Name)
	require.Equal(t, "a", list.Items[0].Name)
}

// otherMeta has metadata of a type of its own.
type otherMeta struct{ unstructured.Unstructured }

func (o *otherMeta) GetObjectMeta() metav1.Object { return o }

// An entry without a field set must not end the sharing, and a Go type of somebody else must not crash the program.
func TestFieldSetsAreSharedAroundWhatHasNone(t *testing.T) {
	shared := internedFields{}
	var pods [2]corev1.Pod
	for i := range pods {
		pods[i].ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "nobody"}, {FieldsV1: metav1.NewFieldsV1(`{"f:a":{}}`)}}
		shared.intern(&pods[i])
	}
	requireOneText(t, pods[0].ManagedFields[1].FieldsV1, pods[1].ManagedFields[1].FieldsV1)
	require.Len(t, shared, 1)
	shared.intern(&otherMeta{})
	shared.intern("no object at all")
}
