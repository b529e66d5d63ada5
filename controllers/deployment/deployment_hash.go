package deployment

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/dump"
)

// hashLabel is on a ReplicaSet, in its selector, and on its Pods. It keeps the Pods of a Deployment's ReplicaSets apart:
// the Deployment's own selector matches all of them.
const hashLabel = appsv1.DefaultDeploymentUniqueLabelKey

// hashOf is the hash of a template and of the number of collisions so far. It is the one that Kubernetes makes: 32 bits
// of FNV-1a over the template as the package dump prints it, written with characters that make no words.
//
// A Go type that has one field more is printed in another way, so another version of the API makes another hash of the same
// template. That is why a ReplicaSet is found by its template, and its hash is only read off.
func hashOf(template *corev1.PodTemplateSpec, collisions *int32) string {
	hash := fnv.New32a()
	fmt.Fprint(hash, dump.ForHash(*template))
	if collisions != nil {
		var count [8]byte // the upper half stays zero
		binary.LittleEndian.PutUint32(count[:], uint32(*collisions))
		hash.Write(count[:])
	}
	return rand.SafeEncodeString(fmt.Sprint(hash.Sum32()))
}

// nameWith is the name of the ReplicaSet with a hash. It is always the same, so that a ReplicaSet that was made, and
// nobody has seen it yet, is not made twice.
func nameWith(deployment, hash string) string {
	longest := validation.DNS1123SubdomainMaxLength - 1 - len(hash)
	return deployment[:min(len(deployment), longest)] + "-" + hash
}

// sameTemplate reports whether two templates make the same Pods, apart from the hash.
func sameTemplate(a, b *corev1.PodTemplateSpec) bool {
	return equality.Semantic.DeepEqual(plain(a), plain(b))
}

// plain is a template without the hash. It shares what it can with the original.
func plain(template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	if _, ok := template.Labels[hashLabel]; !ok {
		return template
	}
	without := *template
	without.Labels = maps.Clone(template.Labels)
	delete(without.Labels, hashLabel)
	return &without
}

// newReplicaSet is the ReplicaSet for a Deployment's template.
func newReplicaSet(d *appsv1.Deployment, replicas int32, revision int64) *appsv1.ReplicaSet {
	hash := hashOf(&d.Spec.Template, d.Status.CollisionCount)
	template := d.Spec.Template.DeepCopy()
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	template.Labels[hashLabel] = hash
	selector := d.Spec.Selector.DeepCopy()
	if selector.MatchLabels == nil {
		selector.MatchLabels = map[string]string{}
	}
	selector.MatchLabels[hashLabel] = hash
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: nameWith(d.Name, hash), Labels: maps.Clone(template.Labels),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, kind)},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, MinReadySeconds: d.Spec.MinReadySeconds, Selector: selector, Template: *template,
		},
	}
	rs.Annotations = annotationsFor(d, nil, revision)
	maps.Copy(rs.Annotations, scaleAnnotations(d))
	return rs
}
