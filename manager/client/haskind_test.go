package client

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// An answer to a delete is an API server's if it's whole and says what kind it is. Half of one, cut
// off anywhere, could be anything.
func TestAnAnswerToADeleteIsWholeOrNone(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1"}}
	for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
		require.True(t, ok)
		codec := scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion)
		for _, answer := range []runtime.Object{pod, &metav1.Status{Status: metav1.StatusSuccess}} {
			encoded, err := runtime.Encode(codec, answer)
			require.NoError(t, err)
			whole := bytes.TrimSuffix(encoded, []byte("\n"))
			require.True(t, hasKind(mediaType, whole), "%s %q", mediaType, whole)
			for end := range whole {
				if cut := whole[:end]; len(bodyOf(t, mediaType, cut)) == 0 {
					require.False(t, hasKind(mediaType, cut), "%s %q", mediaType, cut)
				}
			}
		}
	}
}

// bodyOf is the object in an answer that was cut off, if all of it is there: the rest is about its
// encoding.
func bodyOf(t *testing.T, mediaType string, cut []byte) []byte {
	t.Helper()
	if mediaType != runtime.ContentTypeProtobuf || len(cut) < 4 {
		return nil
	}
	var envelope runtime.Unknown
	if envelope.Unmarshal(cut[4:]) != nil {
		return nil
	}
	return envelope.Raw
}

// What a proxy, a login page or a half of another program may answer with the code 200.
func TestWhatIsNoAnswerToADelete(t *testing.T) {
	bodies := map[string][]string{
		"application/json": {
			"", "{}", "null", "[]", `"Pod"`, `{"kind":""}`, `{"kind":7}`, `{"message":"Log in"}`,
			`{"kind":"Status"`, `{"kind":"Status"}{`,
		},
		"application/json; charset=utf-8": {"<html>Log in</html>"},
		"text/html":                       {"<html>Log in</html>"},
		"":                                {"Log in"},
		runtime.ContentTypeProtobuf: {
			"", "k8s\x00", "<html>Log in</html>", "k8s\x00<html>Log in</html>", `{"kind":"Status"}`,
		},
	}
	for mediaType, all := range bodies {
		for _, body := range all {
			require.False(t, hasKind(mediaType, []byte(body)), "%q %q", mediaType, body)
		}
	}
}
