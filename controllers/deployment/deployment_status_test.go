package deployment

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// kubectl rollout status reads these numbers.
func TestTheStatusAddsUpWhatTheReplicaSetsSay(t *testing.T) {
	f := &family{
		d: newWeb(6, limit("2", "1"), func(d *appsv1.Deployment) { d.Generation, d.Status.CollisionCount = 7, new(int32(3)) }),
		newSet: sized("new", 4, "", "", func(rs *appsv1.ReplicaSet) {
			rs.Status.Replicas, rs.Status.ReadyReplicas, rs.Status.AvailableReplicas = 3, 2, 1
		}),
		oldSets: []*appsv1.ReplicaSet{
			sized("a", 1, "", ""), sized("b", 2, "", "", func(rs *appsv1.ReplicaSet) { rs.Status.TerminatingReplicas = new(int32(5)) }),
		},
	}
	f.newSet.Status.TerminatingReplicas = new(int32(1))
	status := statusOf(f, nil, noon)
	require.Equal(t, conditions{availability(f.d, 4, noon)}, conditions(status.Conditions))
	status.Conditions = nil
	require.Equal(t, appsv1.DeploymentStatus{
		ObservedGeneration: 7, Replicas: 6, UpdatedReplicas: 3, ReadyReplicas: 5, AvailableReplicas: 4, UnavailableReplicas: 3,
		TerminatingReplicas: new(int32(6)), CollisionCount: new(int32(3)),
	}, status)

	f.newSet.Status.AvailableReplicas = 9 // its status is older than its size
	require.Zero(t, statusOf(f, nil, noon).UnavailableReplicas)
	f.newSet = nil
	require.Zero(t, statusOf(f, nil, noon).UpdatedReplicas)
}

// Whoever waits for the condition would be told too early that the Deployment can bear its load, or never.
func TestADeploymentIsAvailableIfNoMorePodsAreMissingThanMayBe(t *testing.T) {
	d := newWeb(4, limit("1", "1"))
	for _, c := range []struct {
		available int32
		want      corev1.ConditionStatus
	}{{2, corev1.ConditionFalse}, {3, corev1.ConditionTrue}, {4, corev1.ConditionTrue}} {
		require.Equal(t, c.want, availability(d, c.available, noon).Status, "%d of 4", c.available)
	}
}

// A field that is left out would stay as it was.
func TestAStatusIsWrittenAsAWhole(t *testing.T) {
	d := newWeb(1, func(d *appsv1.Deployment) { d.UID = "u" })
	written := func(status appsv1.DeploymentStatus, revision string) string {
		data, err := statusPatch(d, status, revision).Data(d)
		require.NoError(t, err)
		return string(data)
	}
	const none = `"status": {"observedGeneration": 0, "replicas": 0, "updatedReplicas": 0, "readyReplicas": 0, "availableReplicas": 0,
		"unavailableReplicas": 0, "terminatingReplicas": null, "collisionCount": null, "conditions": null}`
	require.JSONEq(t, `{"metadata": {"uid": "u"}, `+none+`}`, written(appsv1.DeploymentStatus{}, ""))
	revised := `{"metadata": {"uid": "u", "annotations": {"deployment.kubernetes.io/revision": "2"}}, ` + none + `}`
	require.JSONEq(t, revised, written(appsv1.DeploymentStatus{}, "2"))
	d.Annotations = map[string]string{revisionAnnotation: "1"}
	require.JSONEq(t, revised, written(appsv1.DeploymentStatus{}, "2"))
	require.JSONEq(t, `{"metadata": {"uid": "u"}, `+none+`}`, written(appsv1.DeploymentStatus{}, "1"), "it has this revision")
	require.Contains(t, written(appsv1.DeploymentStatus{Conditions: progress(updated, "True", noon)}, ""), `"conditions":[{"type":"Progressing","status":"True"`)
}
