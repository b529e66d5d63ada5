package replicaset

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var template = map[string]string{"app": "web", "tier": "front"}

// newReplicaSet selects app=web and gives its Pods the labels of template.
func newReplicaSet(replicas int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "web", UID: "web-uid", Generation: 4,
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: template},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{Name: "web", Image: "web"}},
				},
			},
		},
	}
}

func labelled(labels map[string]string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels = labels }
}

func TestTheStatusCountsThePods(t *testing.T) {
	rs := newReplicaSet(9)
	rs.Spec.MinReadySeconds = 60
	pods := []*corev1.Pod{
		settledPod("a", labelled(template)),
		settledPod("b", labelled(map[string]string{"app": "web", "tier": "front", "more": "yes"}),
			notReady),
		settledPod("c", labelled(map[string]string{"app": "web"}), readyFor(59*time.Second)),
		settledPod("d", labelled(template), readyFor(time.Minute)),
	}
	status := statusOf(rs, pods, []*corev1.Pod{settledPod("e", deleted)}, nil, noon)
	require.Equal(t, appsv1.ReplicaSetStatus{
		ObservedGeneration: 4, Replicas: 4, FullyLabeledReplicas: 3, ReadyReplicas: 3,
		AvailableReplicas:   2,
		TerminatingReplicas: new(int32(1)),
	}, status)
	require.Equal(t, time.Second, nextAvailable(rs, pods, noon), "the third Pod becomes available")

	rs.Spec.MinReadySeconds = 0
	require.Equal(t, int32(3), statusOf(rs, pods, nil, nil, noon).AvailableReplicas)
	require.Zero(t, nextAvailable(rs, pods, noon), "nobody waits for anything")
}

func TestTheNextLookIsForThePodThatBecomesAvailableFirst(t *testing.T) {
	rs := newReplicaSet(9)
	rs.Spec.MinReadySeconds = 60
	pods := []*corev1.Pod{
		settledPod("a", readyFor(20*time.Second)), settledPod("b", readyFor(50*time.Second)),
		settledPod("c", readyFor(40*time.Second)), settledPod("d"),
	}
	require.Equal(t, 10*time.Second, nextAvailable(rs, pods, noon))
	require.Equal(t, 5*time.Second, nextAvailable(rs, pods, noon.Add(5*time.Second)))
	require.Equal(t, 10*time.Second, nextAvailable(rs, pods, noon.Add(10*time.Second)),
		"and then for the next one")
	require.Equal(t, time.Nanosecond, nextAvailable(rs, pods[1:2], noon.Add(10*time.Second-1)),
		"however short it is")
	require.Zero(t, nextAvailable(rs, pods, noon.Add(time.Hour)))
	require.Zero(t, nextAvailable(rs, nil, noon))
}

// A user would not learn why there are too few Pods, or would still see the failure after it is
// over.
func TestAFailureIsAConditionUntilItIsOver(t *testing.T) {
	rs := newReplicaSet(1)
	other := appsv1.ReplicaSetCondition{Type: "Other", Status: corev1.ConditionTrue}
	rs.Status.Conditions = []appsv1.ReplicaSetCondition{other}
	refusal := apierrors.NewForbidden(corev1.Resource("pods"), "a", errors.New("exceeded quota"))
	quota := &failure{failedCreate, fmt.Errorf("creating a Pod: %w", refusal)}
	rs.Status = statusOf(rs, nil, nil, quota, noon)
	failing := appsv1.ReplicaSetCondition{
		Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate",
		Message: `pods "a" is forbidden: exceeded quota`, LastTransitionTime: metav1.NewTime(noon),
	}
	require.Equal(t, []appsv1.ReplicaSetCondition{other, failing}, rs.Status.Conditions)

	again := statusOf(rs, nil, nil, &failure{failedDelete, errors.New("something else")},
		noon.Add(time.Hour))
	require.Equal(t, rs.Status, again,
		"it fails still, and another message is no reason for a write")

	rs.Status = statusOf(rs, nil, nil, nil, noon)
	require.Equal(t, []appsv1.ReplicaSetCondition{other}, rs.Status.Conditions)
}

// A write without a change costs a request.
func TestAStatusIsWrittenIfSomethingDiffers(t *testing.T) {
	pods := []*corev1.Pod{settledPod("a", labelled(template))}
	rs := newReplicaSet(1)
	rs.Status = statusOf(rs, pods, nil, nil, noon)
	require.True(t, isWritten(rs, statusOf(rs, pods, nil, nil, noon.Add(time.Hour)), false))
	for _, differs := range []struct {
		what   string
		status appsv1.ReplicaSetStatus
	}{
		{"a Pod", statusOf(rs, nil, nil, nil, noon)},
		{"its labels", statusOf(rs, []*corev1.Pod{settledPod("a")}, nil, nil, noon)},
		{
			"its readiness",
			statusOf(rs, []*corev1.Pod{settledPod("a", labelled(template), notReady)}, nil, nil,
				noon),
		},
		{
			"a Pod that is going",
			statusOf(rs, pods, []*corev1.Pod{settledPod("b", deleted)}, nil, noon),
		},
		{"a failure", statusOf(rs, pods, nil, &failure{failedCreate, errors.New("no")}, noon)},
	} {
		require.False(t, isWritten(rs, differs.status, false), differs.what)
	}
	rs.Generation++
	require.False(t, isWritten(rs, statusOf(rs, pods, nil, nil, noon), false),
		"a new generation was seen")
}

func TestAServerThatDropsTheTerminatingReplicasGetsNoWriteForThem(t *testing.T) {
	rs := newReplicaSet(0)
	rs.Status.ObservedGeneration = rs.Generation
	require.False(t, isWritten(rs, statusOf(rs, nil, nil, nil, noon), false))
	require.True(t, isWritten(rs, statusOf(rs, nil, nil, nil, noon), true))
	require.False(t, isWritten(rs, statusOf(rs, []*corev1.Pod{settledPod("a")}, nil, nil, noon),
		true))
}
