package deployment

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/dump"
)

// family is a Deployment and its ReplicaSets.
type rollout struct {
	d *appsv1.Deployment
	// newRS is the ReplicaSet with the Deployment's template; nil if there is none yet.
	newRS *appsv1.ReplicaSet
	// oldRSs are the others, the oldest first.
	oldRSs []*appsv1.ReplicaSet
}

// newRollout finds the new ReplicaSet. If several have the template, which is so after an update of Kubernetes that has
// changed the template's defaults, it is the oldest.
func newRollout(d *appsv1.Deployment, sets []*appsv1.ReplicaSet) *rollout {
	f := &rollout{d: d}
	sets = slices.Clone(sets)
	slices.SortFunc(sets, compareAge)
	for _, rs := range sets {
		if f.newRS == nil && sameTemplate(&rs.Spec.Template, &d.Spec.Template) {
			f.newRS = rs
		} else {
			f.oldRSs = append(f.oldRSs, rs)
		}
	}
	return f
}

// compareAge is negative if a is older than b.
func compareAge(a, b *appsv1.ReplicaSet) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// all are the ReplicaSets of the family, the new one last.
func (r *rollout) all() []*appsv1.ReplicaSet {
	all := slices.Clone(r.oldRSs)
	if r.newRS != nil {
		all = append(all, r.newRS)
	}
	return all
}

// active are those that ask for Pods, the oldest first.
func (r *rollout) active() []*appsv1.ReplicaSet {
	active := slices.DeleteFunc(r.all(), func(rs *appsv1.ReplicaSet) bool { return replicasOf(rs.Spec.Replicas) == 0 })
	slices.SortFunc(active, compareAge)
	return active
}

// replace puts a ReplicaSet that was written in the place of the one that was read.
func (r *rollout) replace(written *appsv1.ReplicaSet) {
	if r.newRS != nil && r.newRS.UID == written.UID {
		r.newRS = written
	}
	for i, rs := range r.oldRSs {
		if rs.UID == written.UID {
			r.oldRSs[i] = written
		}
	}
}

// sizes is what the arithmetic of a rolling update knows of the family. A new ReplicaSet that is not there has the size 0.
func (r *rollout) sizes() (newRS size, oldRSs []size) {
	if r.newRS != nil {
		newRS = sizeOf(r.newRS)
	}
	for _, rs := range r.oldRSs {
		oldRSs = append(oldRSs, sizeOf(rs))
	}
	return newRS, oldRSs
}

func sizeOf(rs *appsv1.ReplicaSet) size {
	return size{wanted: replicasOf(rs.Spec.Replicas), available: rs.Status.AvailableReplicas}
}

func (r *rollout) desired() int32 { return replicasOf(r.d.Spec.Replicas) }

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
