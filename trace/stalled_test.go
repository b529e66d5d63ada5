package trace_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/loopwright/loopwright/trace"
)

func deployment(c ...appsv1.DeploymentCondition) *appsv1.Deployment {
	return &appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: c}}
}

func pod(c corev1.PodCondition) *corev1.Pod {
	return &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{c}}}
}

// said is what the change of an object has left in the recorder.
func said(old, object any) (events []trace.Event) {
	r := trace.New(4)
	r.RecordStalled(trace.Event{Layer: "informer", Object: "It", Name: "one"}, old, object)
	return r.Events()
}

// A user looks at X-ray because a rollout hangs. The machinery is fine, and only the object knows.
func TestAnObjectThatIsNotGettingAnywhereIsRecordedWithWhatItSays(t *testing.T) {
	for want, object := range map[string]any{
		"Progressing is False: ProgressDeadlineExceeded: it has timed out": deployment(
			appsv1.DeploymentCondition{Type: "Available", Status: "False"},
			appsv1.DeploymentCondition{Type: "Progressing", Status: "False", Reason: "ProgressDeadlineExceeded", Message: "it has timed out"}),
		"Available is False": deployment(appsv1.DeploymentCondition{Type: "Available", Status: "False"}),
		"Ready is False: ContainersNotReady: unready: [web]": pod(
			corev1.PodCondition{Type: "Ready", Status: "False", Reason: "ContainersNotReady", Message: "unready: [web]"}),
		"PodScheduled is False: Unschedulable": pod(
			corev1.PodCondition{Type: "PodScheduled", Status: "False", Reason: "Unschedulable"}),
		"Failed is True: BackoffLimitExceeded": &batchv1.Job{Status: batchv1.JobStatus{
			Conditions: []batchv1.JobCondition{{Type: "Failed", Status: "True", Reason: "BackoffLimitExceeded"}}}},
		"Ready is Unknown: NodeStatusUnknown": &corev1.Node{Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: "Ready", Status: "Unknown", Reason: "NodeStatusUnknown"}}}},
		"Stalled is True": &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
			"conditions": []any{map[string]any{"type": "Stalled", "status": "True"}}}}},
	} {
		events := said(nil, object)
		require.Len(t, events, 1, want)
		assert.Equal(t, trace.Condition, events[0].Kind)
		assert.Equal(t, want, events[0].Reason)
		assert.Empty(t, said(object, object), "it has said so already")
		over := said(object, nil)
		require.Len(t, over, 1, "the object is gone")
		assert.Empty(t, over[0].Reason)
		assert.NotEmpty(t, over[0].Op)
	}
}

func TestAnObjectThatIsFineIsNotRecorded(t *testing.T) {
	for _, object := range []any{
		nil, "a string", (*appsv1.Deployment)(nil), &corev1.ConfigMap{}, &metav1.PartialObjectMetadata{}, deployment(),
		&unstructured.Unstructured{}, &unstructured.Unstructured{Object: map[string]any{"status": "up", "conditions": 1}},
		&struct{ Status struct{ Conditions []string } }{}, &struct {
			Status struct{ Conditions []struct{ Type int } }
		}{},
		deployment(appsv1.DeploymentCondition{Type: "Progressing", Status: "True"}, appsv1.DeploymentCondition{Type: "Available", Status: "True"}),
		deployment(appsv1.DeploymentCondition{Type: "Progressing", Status: "Unknown", Reason: "DeploymentPaused"}),
		pod(corev1.PodCondition{Type: "Ready", Status: "False", Reason: "PodCompleted"}),
	} {
		assert.Empty(t, said(nil, object), "%#v", object)
	}
	var off *trace.Recorder
	off.RecordStalled(trace.Event{}, nil, deployment())
}

// The object may have been like this for an hour when the program starts.
func TestHowLongAnObjectHasBeenStalledIsFromItsCondition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hourAgo := metav1.NewTime(time.Now().Add(-time.Hour))
		events := said(nil, pod(corev1.PodCondition{Type: "Ready", Status: "False", LastTransitionTime: hourAgo}))
		require.Equal(t, time.Hour, events[0].Took)
		events = said(nil, &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Ready", "status": "False", "lastTransitionTime": hourAgo.UTC().Format(time.RFC3339)}}}}})
		require.Equal(t, time.Hour, events[0].Took)
		events = said(nil, pod(corev1.PodCondition{Type: "Ready", Status: "False", LastTransitionTime: metav1.NewTime(time.Now().Add(time.Minute))}))
		require.Zero(t, events[0].Took, "the API server's clock may be ahead")
	})
}
