package deployment

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
)

// family is a Deployment and its ReplicaSets.
type family struct {
	d *appsv1.Deployment
	// newSet is the ReplicaSet with the Deployment's template; nil if there is none yet.
	newSet *appsv1.ReplicaSet
	// oldSets are the others, the oldest first.
	oldSets []*appsv1.ReplicaSet
}

// familyOf finds the new ReplicaSet. If several have the template, which is so after an update of Kubernetes that has
// changed the template's defaults, it is the oldest.
func familyOf(d *appsv1.Deployment, sets []*appsv1.ReplicaSet) *family {
	f := &family{d: d}
	sets = slices.Clone(sets)
	slices.SortFunc(sets, compareAge)
	for _, rs := range sets {
		if f.newSet == nil && sameTemplate(&rs.Spec.Template, &d.Spec.Template) {
			f.newSet = rs
		} else {
			f.oldSets = append(f.oldSets, rs)
		}
	}
	return f
}

// compareAge is negative if a is older than b.
func compareAge(a, b *appsv1.ReplicaSet) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// all are the ReplicaSets of the family, the new one last.
func (f *family) all() []*appsv1.ReplicaSet {
	all := slices.Clone(f.oldSets)
	if f.newSet != nil {
		all = append(all, f.newSet)
	}
	return all
}

// active are those that ask for Pods, the oldest first.
func (f *family) active() []*appsv1.ReplicaSet {
	active := slices.DeleteFunc(f.all(), func(rs *appsv1.ReplicaSet) bool { return replicasOf(rs.Spec.Replicas) == 0 })
	slices.SortFunc(active, compareAge)
	return active
}

// replace puts a ReplicaSet that was written in the place of the one that was read.
func (f *family) replace(written *appsv1.ReplicaSet) {
	if f.newSet != nil && f.newSet.UID == written.UID {
		f.newSet = written
	}
	for i, rs := range f.oldSets {
		if rs.UID == written.UID {
			f.oldSets[i] = written
		}
	}
}

// sizes is what the arithmetic of a rolling update knows of the family. A new ReplicaSet that is not there has the size 0.
func (f *family) sizes() (newSet size, oldSets []size) {
	if f.newSet != nil {
		newSet = sizeOf(f.newSet)
	}
	for _, rs := range f.oldSets {
		oldSets = append(oldSets, sizeOf(rs))
	}
	return newSet, oldSets
}

func sizeOf(rs *appsv1.ReplicaSet) size {
	return size{wanted: replicasOf(rs.Spec.Replicas), available: rs.Status.AvailableReplicas}
}

func (f *family) desired() int32 { return replicasOf(f.d.Spec.Replicas) }
