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

// rollout is a Deployment with its old and new ReplicaSets.
type rollout struct {
	d *appsv1.Deployment
	// newRS has the Deployment's template; nil if there's none yet.
	newRS *appsv1.ReplicaSet
	// oldRSs are the others, the oldest first.
	oldRSs []*appsv1.ReplicaSet
}

// newRollout finds the new ReplicaSet. Several may have the template, because an update of
// Kubernetes has changed the template's defaults; then it's the oldest of them.
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
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name))
}

// all returns the ReplicaSets, the new one last.
func (r *rollout) all() []*appsv1.ReplicaSet {
	all := slices.Clone(r.oldRSs)
	if r.newRS != nil {
		all = append(all, r.newRS)
	}
	return all
}

// active returns the ReplicaSets that want Pods, the oldest first.
func (r *rollout) active() []*appsv1.ReplicaSet {
	active := slices.DeleteFunc(r.all(), func(rs *appsv1.ReplicaSet) bool {
		return replicasOf(rs.Spec.Replicas) == 0
	})
	slices.SortFunc(active, compareAge)
	return active
}

// replace replaces the ReplicaSet that was read by the one that was written.
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

// sizes returns the input of newSize and oldSizes. A new ReplicaSet that doesn't exist yet has the
// size 0.
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

// hashLabel is on a ReplicaSet, in its selector, and on its Pods. It distinguishes the Pods of one
// ReplicaSet from those of the others, which the Deployment's selector matches, too.
const hashLabel = appsv1.DefaultDeploymentUniqueLabelKey

// hashOf hashes a template and the number of collisions so far, as Kubernetes does: 32 bits of
// FNV-1a over the template as the package dump prints it, encoded in characters that can't form
// words.
//
// A Go type with one more field prints differently, so another version of the API gives the same
// template another hash. That is why the controller finds a ReplicaSet by its template, and never
// by its hash.
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

// nameWith returns the name of the ReplicaSet with a hash. It's always the same, so a ReplicaSet
// that the cache doesn't show yet can't be created twice.
func nameWith(deployment, hash string) string {
	longest := validation.DNS1123SubdomainMaxLength - 1 - len(hash)
	return deployment[:min(len(deployment), longest)] + "-" + hash
}

// sameTemplate reports whether two templates are equal apart from the hash.
func sameTemplate(a, b *corev1.PodTemplateSpec) bool {
	return equality.Semantic.DeepEqual(plain(a), plain(b))
}

// plain returns a template without the hash label. It shares the rest with the original.
func plain(template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	if _, ok := template.Labels[hashLabel]; !ok {
		return template
	}
	without := *template
	without.Labels = maps.Clone(template.Labels)
	delete(without.Labels, hashLabel)
	return &without
}

// newReplicaSet returns a ReplicaSet with the Deployment's template.
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
			Namespace:       d.Namespace,
			Name:            nameWith(d.Name, hash),
			Labels:          maps.Clone(template.Labels),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, kind)},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, MinReadySeconds: d.Spec.MinReadySeconds, Selector: selector,
			Template: *template,
		},
	}
	rs.Annotations = annotationsFor(d, nil, revision)
	maps.Copy(rs.Annotations, scaleAnnotations(d))
	return rs
}
