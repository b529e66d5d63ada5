package events

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// They stand here, because beside the type they would make go vet check the format of each Eventf
// in a program that was ported. go test does so, too, and it does not with client-go.
var (
	_ EventRecorder          = (*FakeRecorder)(nil)
	_ AnnotatedEventRecorder = (*FakeRecorder)(nil)
)

func TestTheFakeSaysWhatWasRecorded(t *testing.T) {
	f := NewFakeRecorder(3)
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	f.Eventf(pod, nil, "Normal", "Scaled", "Scale", "to %d", 3)
	require.Equal(t, "Normal Scaled to 3", <-f.Events)
	f.AnnotatedEventf(pod, nil, map[string]string{"a": "b"}, "Normal", "100%", "Scale", "%d%%", 3)
	require.Equal(t, "Normal 100% 3%", <-f.Events)

	f.Verbose = true
	f.AnnotatedEventf(pod, (*corev1.Pod)(nil), map[string]string{"a": "b"}, "Normal", "Scaled",
		"Scale", "to %d", 3)
	require.Equal(t, "Normal Scaled Scale to 3 {kind=Pod,apiVersion=v1} map[a:b]", <-f.Events)
	f.Eventf(&corev1.Pod{}, pod, "Normal", "Scaled", "Scale", "alone")
	require.Equal(t, "Normal Scaled Scale alone {kind=Pod,apiVersion=v1}", <-f.Events)
}

func TestAFakeWithoutAChannelThrowsEventsAway(*testing.T) {
	(&FakeRecorder{}).Eventf(nil, nil, "Normal", "Scaled", "Scale", "to nowhere")
}
