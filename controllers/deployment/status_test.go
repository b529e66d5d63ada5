package deployment

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kubectl rollout status reads these numbers.
func TestTheStatusAddsUpWhatTheReplicaSetsSay(t *testing.T) {
	f := &rollout{
		d: newWeb(6, limit("2", "1"), func(d *appsv1.Deployment) {
			d.Generation, d.Status.CollisionCount = 7, new(int32(3))
		}),
		newRS: sized("new", 4, "", "", func(rs *appsv1.ReplicaSet) {
			rs.Status.Replicas, rs.Status.ReadyReplicas, rs.Status.AvailableReplicas = 3, 2, 1
		}),
		oldRSs: []*appsv1.ReplicaSet{
			sized("a", 1, "", ""), sized("b", 2, "", "", func(rs *appsv1.ReplicaSet) {
				rs.Status.TerminatingReplicas = new(int32(5))
			}),
		},
	}
	f.newRS.Status.TerminatingReplicas = new(int32(1))
	status := statusOf(f, nil, noon)
	require.Equal(t, conditions{availability(f.d, 4, noon)}, conditions(status.Conditions))
	status.Conditions = nil
	require.Equal(t, appsv1.DeploymentStatus{
		ObservedGeneration: 7, Replicas: 6, UpdatedReplicas: 3, ReadyReplicas: 5,
		AvailableReplicas: 4, UnavailableReplicas: 3,
		TerminatingReplicas: new(int32(6)), CollisionCount: new(int32(3)),
	}, status)

	f.newRS.Status.AvailableReplicas = 9 // its status is older than its size
	require.Zero(t, statusOf(f, nil, noon).UnavailableReplicas)
	f.newRS = nil
	require.Zero(t, statusOf(f, nil, noon).UpdatedReplicas)
}

// A program that waits for the condition would go on too early, or never.
func TestADeploymentIsAvailableIfNoMorePodsAreMissingThanMayBe(t *testing.T) {
	d := newWeb(4, limit("1", "1"))
	for _, c := range []struct {
		available int32
		want      corev1.ConditionStatus
	}{{2, corev1.ConditionFalse}, {3, corev1.ConditionTrue}, {4, corev1.ConditionTrue}} {
		require.Equal(t, c.want, availability(d, c.available, noon).Status, "%d of 4", c.available)
	}
}

// A field that the patch leaves out would keep its old value.
func TestAStatusIsWrittenAsAWhole(t *testing.T) {
	d := newWeb(1, func(d *appsv1.Deployment) { d.UID = "u" })
	written := func(status appsv1.DeploymentStatus, revision string) string {
		data, err := statusPatch(d, status, revision).Data(d)
		require.NoError(t, err)
		return string(data)
	}
	const none = `"status": {"observedGeneration": 0, "replicas": 0, "updatedReplicas": 0, "readyReplicas": 0, "availableReplicas": 0,
		"unavailableReplicas": 0, "terminatingReplicas": null, "collisionCount": null, "conditions": null}`
	require.JSONEq(t, `{"metadata": {"uid": "u"}, `+none+`}`,
		written(appsv1.DeploymentStatus{}, ""))
	revised := `{"metadata": {"uid": "u", "annotations": {"deployment.kubernetes.io/revision": "2"}}, ` + none + `}`
	require.JSONEq(t, revised, written(appsv1.DeploymentStatus{}, "2"))
	d.Annotations = map[string]string{revisionAnnotation: "1"}
	require.JSONEq(t, revised, written(appsv1.DeploymentStatus{}, "2"))
	require.JSONEq(t, `{"metadata": {"uid": "u"}, `+none+`}`,
		written(appsv1.DeploymentStatus{}, "1"), "it has this revision")
	require.Contains(t, written(appsv1.DeploymentStatus{Conditions: progress(updated, "True",
		noon)}, ""), `"conditions":[{"type":"Progressing","status":"True"`)
}

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func progress(reason string, status corev1.ConditionStatus, at time.Time) conditions {
	return conditions{progressing(status, reason, "", at)}
}

func TestTheProgressOfARollout(t *testing.T) {
	d := newWeb(3, limit("1", "0"), func(d *appsv1.Deployment) {
		d.Generation, d.Spec.ProgressDeadlineSeconds = 2, new(int32(60))
		d.Status = appsv1.DeploymentStatus{
			Replicas: 3, UpdatedReplicas: 1, ReadyReplicas: 2, AvailableReplicas: 2,
		}
	})
	f := &rollout{d: d, newRS: &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web-abc"}}}
	same := appsv1.DeploymentStatus{
		ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 1, ReadyReplicas: 2,
		AvailableReplicas: 2,
	}
	more := func(change func(*appsv1.DeploymentStatus)) appsv1.DeploymentStatus {
		next := same
		change(&next)
		return next
	}
	whole := appsv1.DeploymentStatus{
		ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3,
		AvailableReplicas: 3,
	}
	for _, c := range []struct {
		name   string
		before conditions
		next   appsv1.DeploymentStatus
		after  time.Duration
		want   string
	}{
		{
			"nothing has moved", progress(createdNewSet, "True", noon), same, time.Minute,
			"True NewReplicaSetCreated",
		},
		{
			"nothing has moved for too long", progress(createdNewSet, "True", noon), same,
			time.Minute + 1, "False ProgressDeadlineExceeded",
		},
		{"a new Pod", progress(createdNewSet, "True", noon), more(func(s *appsv1.DeploymentStatus) {
			s.UpdatedReplicas++
		}), time.Hour, "True ReplicaSetUpdated"},
		{"a new Pod beside the old ones", progress(createdNewSet, "True", noon),
			more(func(s *appsv1.DeploymentStatus) {
				s.UpdatedReplicas++
				s.Replicas++
			}), time.Hour, "True ReplicaSetUpdated"},
		{"an old Pod less", progress(createdNewSet, "True", noon),
			more(func(s *appsv1.DeploymentStatus) {
				s.Replicas--
			}), time.Hour, "True ReplicaSetUpdated"},
		{"one more is ready", progress(createdNewSet, "True", noon),
			more(func(s *appsv1.DeploymentStatus) {
				s.ReadyReplicas++
			}), time.Hour, "True ReplicaSetUpdated"},
		{"one more is available", progress(timedOut, "False", noon),
			more(func(s *appsv1.DeploymentStatus) {
				s.AvailableReplicas++
			}), time.Hour, "True ReplicaSetUpdated"},
		{"one less is available", progress(updated, "True", noon),
			more(func(s *appsv1.DeploymentStatus) {
				s.AvailableReplicas--
			}), time.Hour, "False ProgressDeadlineExceeded"},
		{
			"it is late, and stays so", progress(timedOut, "False", noon), same, time.Second,
			"False ProgressDeadlineExceeded",
		},
		{
			"all are there", progress(updated, "True", noon), whole, time.Hour,
			"True NewReplicaSetAvailable",
		},
		{"all new ones are there, and an old one is left", progress(updated, "True", noon),
			more(func(s *appsv1.DeploymentStatus) {
				*s = whole
				s.Replicas = 4
			}), time.Hour, "True ReplicaSetUpdated"},
		{"a Pod is lost after the end", progress(completed, "True", noon),
			more(func(s *appsv1.DeploymentStatus) {
				s.UpdatedReplicas = 3
			}), time.Hour, "True NewReplicaSetAvailable"},
		{
			"the next rollout, of which nobody has written", progress(completed, "True", noon),
			same, time.Hour, "True NewReplicaSetAvailable",
		},
		{"the next rollout has come further", progress(completed, "True", noon),
			more(func(s *appsv1.DeploymentStatus) {
				s.UpdatedReplicas++
			}), time.Hour, "True ReplicaSetUpdated"},
		{"no condition to count from", nil, same, time.Hour, ""},
	} {
		after := withProgress(c.before, f, c.next, noon.Add(c.after))
		if c.want == "" {
			require.Empty(t, after, c.name)
			continue
		}
		require.Len(t, after, 1, c.name)
		require.Equal(t, c.want, string(after[0].Status)+" "+after[0].Reason, c.name)
		if strings.HasSuffix(c.want, updated) {
			require.Equal(t, noon.Add(c.after), after[0].LastUpdateTime.Time,
				"%s: the deadline counts from now on", c.name)
			require.Equal(t, `ReplicaSet "web-abc" is progressing.`, after[0].Message)
		}
	}
	later := withProgress(progress(updated, "True", noon), f,
		more(func(s *appsv1.DeploymentStatus) {
			s.ReadyReplicas++
		}), noon.Add(time.Hour))
	require.Equal(t, noon, later[0].LastTransitionTime.Time, "the status was True before")

	late := withProgress(progress(updated, "True", noon), f, same, noon.Add(time.Hour))
	require.Equal(t, noon.Add(time.Hour), late[0].LastTransitionTime.Time, "and now it is False")
	f.newRS = nil
	require.Equal(t, `Deployment "web" is progressing.`,
		withProgress(nil, f, more(func(s *appsv1.DeploymentStatus) {
			s.Replicas--
		}), noon)[0].Message)
}

// kubectl rollout status waits for the condition Progressing; without a deadline, there must be
// none.
func TestWithoutADeadlineNobodySpeaksOfProgress(t *testing.T) {
	for _, deadline := range []*int32{nil, new(int32(math.MaxInt32))} {
		d := newWeb(3, func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = deadline })
		other := condition(appsv1.DeploymentAvailable, corev1.ConditionTrue, minimumAvailable, "",
			noon)
		left := append(conditions{other}, progress(updated, "True", noon)...)
		require.Equal(t, conditions{other},
			withProgress(left, &rollout{d: d}, appsv1.DeploymentStatus{Replicas: 1}, noon))
		require.Equal(t, left, atStart(left, d, createdNewSet, "x", noon))
		require.Zero(t, nextCheck(d, appsv1.DeploymentStatus{Conditions: left}, noon))
		d.Spec.Paused = true
		require.Equal(t, left, afterPause(left, d, noon))
	}
}

// A program that waits for a condition waits for its status.
func TestAConditionWithAnotherStatusIsNewsThoughItsReasonIsTheSame(t *testing.T) {
	before := conditions{
		condition(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "Quota", "", noon),
	}
	for _, next := range []appsv1.DeploymentCondition{
		condition(appsv1.DeploymentReplicaFailure, corev1.ConditionFalse, "Quota", "",
			noon.Add(time.Hour)),
		condition(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "Webhook", "", noon),
	} {
		require.Equal(t, conditions{next}, before.with(next))
	}
	require.Equal(t, before, before.with(condition(appsv1.DeploymentReplicaFailure,
		corev1.ConditionTrue, "Quota", "with other words", noon)))
}

func TestTheNextCheckIsWhenTheDeadlineHasPassed(t *testing.T) {
	d := newWeb(3, func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = new(int32(60)) })
	check := func(reason string) time.Duration {
		return nextCheck(d, appsv1.DeploymentStatus{Conditions: progress(reason, "True", noon)},
			noon.Add(10*time.Second))
	}
	require.Equal(t, 51*time.Second, check(updated))
	require.Equal(t, 51*time.Second, check(resumed))
	require.Zero(t, check(timedOut))
	require.Zero(t, check(completed))
	require.Equal(t, time.Second, nextCheck(d,
		appsv1.DeploymentStatus{Conditions: progress(updated, "True", noon)}, noon.Add(time.Hour)))
	require.Zero(t, nextCheck(d, appsv1.DeploymentStatus{}, noon))
	d.Spec.Paused = true
	require.Zero(t, check(updated))
}

func TestTheBeginningOfARolloutIsNoted(t *testing.T) {
	d := newWeb(3, func(d *appsv1.Deployment) {
		d.Spec.ProgressDeadlineSeconds = new(int32(60))
		d.Annotations = map[string]string{revisionAnnotation: "3"}
	})
	f := &rollout{d: d, newRS: &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web-abc"}}}
	last := progress(timedOut, "False", noon)
	require.True(t, f.begins(nil, "3"), "an older controller knew no progress")
	require.False(t, f.begins(last, "3"))
	require.True(t, f.begins(last, "4"), "this ReplicaSet has just got a revision")
	last[0].Message = f.successful()
	require.False(t, f.begins(last, "4"),
		"somebody has removed the revision from the Deployment, after the end")
	last[0].Message = `ReplicaSet "web-xyz" has successfully progressed.`
	require.True(t, f.begins(last, "4"))
	d.Spec.Paused = true
	require.False(t, f.begins(last, "4"), "a paused Deployment does not roll out")
	require.Equal(t, `Found new replica set "web-abc"`,
		atStart(nil, d, foundNewSet, "web-abc", noon)[0].Message)
	require.Equal(t, `Created new replica set "web-abc"`,
		atStart(nil, d, createdNewSet, "web-abc", noon)[0].Message)
}

func TestTheFailureOfTheNewReplicaSetComesFirst(t *testing.T) {
	failing := func(name, message string) *appsv1.ReplicaSet {
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
		rs.Status.Conditions = []appsv1.ReplicaSetCondition{
			{Type: "Other"},
			{
				Type: appsv1.ReplicaSetReplicaFailure, Status: "True", Reason: "FailedCreate",
				Message: message, LastTransitionTime: metav1.NewTime(noon),
			},
		}
		return rs
	}
	f := &rollout{
		d: newWeb(1), newRS: failing("new", "new"),
		oldRSs: []*appsv1.ReplicaSet{failing("old", "old")},
	}
	require.Equal(t, conditions{{
		Type: "ReplicaFailure", Status: "True", Reason: "FailedCreate", Message: "new",
		LastUpdateTime: metav1.NewTime(noon), LastTransitionTime: metav1.NewTime(noon),
	}}, withFailure(nil, f))
	f.newRS.Status.Conditions = nil
	after := withFailure(nil, f)
	require.Equal(t, "old", after[0].Message)
	f.oldRSs = nil
	require.Empty(t, withFailure(after, f))
}

func TestACountThatSomeDoNotKnowIsNone(t *testing.T) {
	known, unknown, fresh := &appsv1.ReplicaSet{}, &appsv1.ReplicaSet{}, &appsv1.ReplicaSet{}
	known.Status = appsv1.ReplicaSetStatus{
		ObservedGeneration: 1, TerminatingReplicas: new(int32(2)),
	}
	unknown.Status.ObservedGeneration = 1
	require.Equal(t, int32(4), *terminating([]*appsv1.ReplicaSet{known, fresh, known}))
	require.Nil(t, terminating([]*appsv1.ReplicaSet{known, unknown}))
}

func TestAServerThatDropsTheTerminatingReplicasGetsNoWriteForThem(t *testing.T) {
	d := newWeb(1)
	require.False(t, isWritten(d, appsv1.DeploymentStatus{TerminatingReplicas: new(int32(0))}, "",
		false))
	require.True(t, isWritten(d, appsv1.DeploymentStatus{TerminatingReplicas: new(int32(0))}, "",
		true))
	require.False(t, isWritten(d, appsv1.DeploymentStatus{}, "1", false), "the revision is news")
}
