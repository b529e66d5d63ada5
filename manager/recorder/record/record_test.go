package record

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// They stand here, because beside the type they would make go vet check the format of each Eventf
// in a program that was ported. go test does so, too, and it does not with client-go.
var (
	_ EventRecorder = (*FakeRecorder)(nil)
)

func TestTheFakeSaysWhatWasRecorded(t *testing.T) {
	f := NewFakeRecorder(3)
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	f.Event(pod, "Normal", "Scaled", "100%d")
	require.Equal(t, "Normal Scaled 100%d", <-f.Events, "a message is not a format")
	f.Eventf(pod, "Normal", "Scaled", "to %d", 3)
	require.Equal(t, "Normal Scaled to 3", <-f.Events)
	f.IncludeObject = true
	f.AnnotatedEventf(pod, map[string]string{"a": "b"}, "Normal", "Scaled", "to %d", 3)
	require.Equal(t, "Normal Scaled to 3 involvedObject{kind=Pod,apiVersion=v1} map[a:b]",
		<-f.Events)
}

// A test of a user's reconciler may have no object at hand.
func TestTheFakeTakesAnEventAboutNothing(t *testing.T) {
	f := NewFakeRecorder(3)
	f.IncludeObject = true
	f.Event(nil, "Normal", "Scaled", "down")
	f.Eventf((*corev1.Pod)(nil), "Normal", "Scaled", "to %d", 3)
	f.AnnotatedEventf(nil, map[string]string{"a": "b"}, "Normal", "Scaled", "up")
	require.Equal(t, "Normal Scaled down", <-f.Events)
	require.Equal(t, "Normal Scaled to 3", <-f.Events)
	require.Equal(t, "Normal Scaled up map[a:b]", <-f.Events)
}

func TestAFakeWithoutAChannelThrowsEventsAway(*testing.T) {
	(&FakeRecorder{}).Event(nil, "Normal", "Scaled", "to nowhere")
}
