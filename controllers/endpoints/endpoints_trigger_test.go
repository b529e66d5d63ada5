package endpoints

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// timesAt are those of a Service that was created at noon, with Pods whose readiness changed so many seconds later.
func timesAt(pods map[string]int) *times {
	t := &times{service: noon, pods: map[string]time.Time{}}
	for name, seconds := range pods {
		t.pods[name] = noon.Add(time.Duration(seconds) * time.Second)
	}
	return t
}

// Who measures the latency of the network would measure something else.
func TestTheTriggerIsTheOldestChangeThatIsNew(t *testing.T) {
	before := map[string]int{"a": 10, "b": 20}
	for _, c := range []struct {
		name   string
		before *times
		now    map[string]int
		want   int // seconds after noon; negative is none
	}{
		{"a Service that nobody has looked at", nil, map[string]int{"a": 10}, 0},
		{"nothing has changed", timesAt(before), before, -1},
		{"a Pod has changed", timesAt(before), map[string]int{"a": 10, "b": 30}, 30},
		{"two have: the older counts", timesAt(before), map[string]int{"a": 40, "b": 30}, 30},
		{"a Pod is new", timesAt(before), map[string]int{"a": 10, "b": 20, "c": 5}, 5},
		{"a Pod is gone: nobody knows since when", timesAt(before), map[string]int{"a": 10}, -1},
		{"a clock was put back", timesAt(before), map[string]int{"a": 10, "b": 15}, -1},
	} {
		want := time.Time{}
		if c.want >= 0 {
			want = noon.Add(time.Duration(c.want) * time.Second)
		}
		require.Equal(t, want, timesAt(c.now).trigger(c.before), c.name)
	}
	again := timesAt(before)
	again.service = noon.Add(time.Hour)
	require.Equal(t, noon.Add(time.Hour), again.trigger(timesAt(before)), "the Service was made again")
	again.pods["c"] = noon.Add(2 * time.Hour)
	require.Equal(t, noon.Add(time.Hour), again.trigger(timesAt(before)), "and a Pod has changed later")
	again.pods["c"] = noon.Add(time.Minute)
	require.Equal(t, noon.Add(time.Minute), again.trigger(timesAt(before)), "and a Pod has changed earlier")
}

func TestTheMomentsOfPodsAreThoseOfTheirReadiness(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(noon)}}
	pods := []*corev1.Pod{
		runningPod(1, func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(noon.Add(time.Minute)) }),
		runningPod(2, notReady, func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(noon) }),
		runningPod(3, func(p *corev1.Pod) { p.Status.Conditions = nil }),
	}
	require.Equal(t, timesAt(map[string]int{"pod-1": 60, "pod-2": 0}), timesOf(service, pods))
}
