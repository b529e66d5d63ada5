package deployment

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The cluster's own controller leaves ReplicaSets behind, and users read the hash in names.
//
// The function has been compared with ComputeHash of k8s.io/kubernetes v1.36.3,
// pkg/controller/controller_utils.go: with the same version of k8s.io/api, both return the same.
// These are the hashes with the version in go.mod, and may change with it.
func TestTheHashIsThatOfKubernetes(t *testing.T) {
	for _, c := range []struct {
		template        corev1.PodTemplateSpec
		first, collided string
	}{
		{corev1.PodTemplateSpec{}, "54f4c57dcb", "6554565b97"},
		{template("web:1"), "6c7874fc5f", "7c9fb69c94"},
		{corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web", "a": "b"}},
			Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways,
				TerminationGracePeriodSeconds: new(int64(30)), Containers: []corev1.Container{
					{Name: "web", Image: "web:1", Env: []corev1.EnvVar{{Name: "A", Value: "ü"}}},
				}},
		}, "6546954b8c", "5fcb9dc954"},
	} {
		require.Equal(t, c.first, hashOf(&c.template, nil))
		require.Equal(t, c.collided, hashOf(&c.template, new(int32(1))))
	}
}

func TestTemplatesAreTheSameApartFromTheHash(t *testing.T) {
	a, b := template("web:1"), template("web:1")
	b.Labels[hashLabel] = "abc"
	require.True(t, sameTemplate(&a, &b))
	require.Equal(t, "abc", b.Labels[hashLabel], "the template may be a cache's")
	b.Annotations = map[string]string{}
	require.True(t, sameTemplate(&a, &b), "empty is the same as nothing")
	b.Labels["other"] = "x"
	require.False(t, sameTemplate(&a, &b))
	b = template("web:2")
	require.False(t, sameTemplate(&a, &b))
}

// If a selector only requires that a label is missing, the template needs no labels at all.
func TestADeploymentThatSelectsByExpressionsAloneGetsAHashToo(t *testing.T) {
	d := newWeb(1, func(d *appsv1.Deployment) {
		d.Spec.Selector = &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "app", Operator: metav1.LabelSelectorOpDoesNotExist},
			},
		}
		d.Spec.Template.Labels = nil
	})
	before := d.DeepCopy()
	rs := newReplicaSet(d, 1, 1)
	hash := map[string]string{hashLabel: hashOf(&d.Spec.Template, nil)}
	require.Equal(t, hash, rs.Labels)
	require.Equal(t, hash, rs.Spec.Template.Labels)
	require.Equal(t, &metav1.LabelSelector{MatchLabels: hash,
		MatchExpressions: d.Spec.Selector.MatchExpressions}, rs.Spec.Selector)
	require.Equal(t, before, d, "the Deployment is a cache's")
}
