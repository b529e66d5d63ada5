package podstate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func pod(phase corev1.PodPhase, deleting bool, conditions ...corev1.PodCondition) *corev1.Pod {
	p := &corev1.Pod{Status: corev1.PodStatus{Phase: phase, Conditions: conditions}}
	if deleting {
		p.DeletionTimestamp = &metav1.Time{Time: noon}
	}
	return p
}

func ready(status corev1.ConditionStatus, since time.Time) corev1.PodCondition {
	return corev1.PodCondition{
		Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(since),
	}
}

// A Pod that counts for too long is never replaced; one that does not count is replaced although it
// runs.
func TestAPodCountsUntilItHasFinishedOrIsBeingDeleted(t *testing.T) {
	for _, c := range []struct {
		phase               corev1.PodPhase
		deleting            bool
		active, terminating bool
	}{
		{"", false, true, false},
		{corev1.PodPending, false, true, false},
		{corev1.PodRunning, false, true, false},
		{corev1.PodUnknown, false, true, false},
		{corev1.PodSucceeded, false, false, false},
		{corev1.PodFailed, false, false, false},
		{corev1.PodPending, true, false, true},
		{corev1.PodRunning, true, false, true},
		{corev1.PodUnknown, true, false, true},
		{corev1.PodSucceeded, true, false, false},
		{corev1.PodFailed, true, false, false},
	} {
		p := pod(c.phase, c.deleting)
		require.Equal(t, c.active, IsActive(p), "active: %+v", c)
		require.Equal(t, c.terminating, IsTerminating(p), "terminating: %+v", c)
	}
}

func TestAPodIsReadyIfItsReadyConditionSaysSo(t *testing.T) {
	other := corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}
	for _, c := range []struct {
		pod   *corev1.Pod
		since time.Time
		ready bool
	}{
		{pod(corev1.PodRunning, false), time.Time{}, false},
		{pod(corev1.PodRunning, false, other), time.Time{}, false},
		{pod(corev1.PodRunning, false, other, ready(corev1.ConditionTrue, noon)), noon, true},
		{pod(corev1.PodRunning, false, ready(corev1.ConditionFalse, noon)), noon, false},
		{pod(corev1.PodRunning, false, ready(corev1.ConditionUnknown, noon)), noon, false},
		{
			pod(corev1.PodRunning, false, ready(corev1.ConditionTrue, time.Time{})), time.Time{},
			true,
		},
	} {
		since, is := Ready(c.pod)
		require.Equal(t, c.ready, is)
		require.True(t, c.since.Equal(since), "%v", since)
	}
}

// If the controller did not reconcile again at the right time, a rollout would wait forever for
// available Pods.
func TestAPodBecomesAvailableWhenItHasBeenReadyLongEnough(t *testing.T) {
	for _, c := range []struct {
		name      string
		condition corev1.PodCondition
		minReady  time.Duration
		available bool
		in        time.Duration
	}{
		{
			"it is not ready", ready(corev1.ConditionFalse, noon.Add(-time.Hour)), time.Minute,
			false, 0,
		},
		{
			"it is not ready, and need not be for long",
			ready(corev1.ConditionFalse, noon.Add(-time.Hour)), 0, false, 0,
		},
		{"it is ready, and that is enough", ready(corev1.ConditionTrue, noon), 0, true, 0},
		{
			"nobody knows since when", ready(corev1.ConditionTrue, time.Time{}), time.Minute, false,
			0,
		},
		{
			"nobody knows, and it does not matter", ready(corev1.ConditionTrue, time.Time{}), 0,
			true, 0,
		},
		{
			"for a part of the time", ready(corev1.ConditionTrue, noon.Add(-20*time.Second)),
			time.Minute, false, 40 * time.Second,
		},
		{
			"for exactly the time", ready(corev1.ConditionTrue, noon.Add(-time.Minute)),
			time.Minute, true, 0,
		},
		{"for longer", ready(corev1.ConditionTrue, noon.Add(-time.Hour)), time.Minute, true, 0},
		{
			"by a clock that is ahead", ready(corev1.ConditionTrue, noon.Add(time.Second)),
			time.Minute, false, 61 * time.Second,
		},
	} {
		available, in := Availability(pod(corev1.PodRunning, false, c.condition), c.minReady, noon)
		require.Equal(t, c.available, available, c.name)
		require.Equal(t, c.in, in, c.name)
	}
}
