package picture

import (
	"cmp"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Facts are the numbers in the picture. The zero value is that of a Deployment that is not there.
type Facts struct {
	// Wanted is the number in the spec; the others are those of the status.
	Wanted, Pods, Updated, Ready, Available int32
	// Observed says that the status is about the newest spec.
	Observed bool
	// Stalled is the reason why the Deployment does not progress, if it says so, and Message explains it.
	Stalled, Message string
	// Sets are the Deployment's ReplicaSets that have or want Pods, and the newest one; by revision.
	Sets []Set
	// Serving and NotReady are the addresses in the Endpoints. HasEndpoints says whether there are any Endpoints.
	Serving, NotReady int
	HasEndpoints      bool
}

// Set is one ReplicaSet.
type Set struct {
	Name, Hash                     string
	Revision                       int64
	Newest                         bool
	Wanted, Pods, Ready, Available int32
}

// Complete reports whether the rollout is over: all Pods are of the newest template, are available, and are as many
// as are wanted.
func (f Facts) Complete() bool {
	return f.Observed && f.Updated == f.Wanted && f.Pods == f.Wanted && f.Available == f.Wanted
}

// Facts returns what the picture shows now.
func (p *Picture) Facts() Facts {
	f := Facts{}
	if d := p.deployment; d != nil {
		f.Wanted = wanted(d.Spec.Replicas)
		f.Pods, f.Updated, f.Ready, f.Available = d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas
		f.Observed = d.Status.ObservedGeneration == d.Generation
		for _, c := range d.Status.Conditions {
			if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse {
				f.Stalled, f.Message = c.Reason, c.Message
			}
		}
		f.Sets = p.ownSets(d)
	}
	if p.endpoints != nil {
		f.HasEndpoints = true
		f.Serving, f.NotReady = p.addresses()
	}
	return f
}

func wanted(replicas *int32) int32 {
	if replicas == nil {
		return 1 // as the API server defaults it
	}
	return *replicas
}

// ownSets are the ReplicaSets that Facts.Sets is about.
func (p *Picture) ownSets(d *appsv1.Deployment) []Set {
	sets := []Set{}
	for _, rs := range p.sets {
		if !metav1.IsControlledBy(rs, d) {
			continue
		}
		revision, _ := strconv.ParseInt(rs.Annotations["deployment.kubernetes.io/revision"], 10, 64) // 0 until it has one
		sets = append(sets, Set{
			Name: rs.Name, Hash: rs.Labels[appsv1.DefaultDeploymentUniqueLabelKey], Revision: revision,
			Wanted: wanted(rs.Spec.Replicas), Pods: rs.Status.Replicas, Ready: rs.Status.ReadyReplicas, Available: rs.Status.AvailableReplicas,
		})
	}
	if len(sets) == 0 {
		return nil
	}
	slices.SortFunc(sets, func(a, b Set) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Name, b.Name))
	})
	sets[len(sets)-1].Newest = true
	return slices.DeleteFunc(sets, func(s Set) bool { return !s.Newest && s.Wanted == 0 && s.Pods == 0 })
}

// addresses counts each address once, in however many subsets it is. One that is ready for some ports only counts as
// not ready. Two Pods may have one IP: those of the host's network do, and kwok has given the first two Pods of a new
// cluster the same one.
func (p *Picture) addresses() (serving, notReady int) {
	type address struct {
		ip  string
		pod types.UID
	}
	of := func(a corev1.EndpointAddress) address {
		if a.TargetRef == nil {
			return address{ip: a.IP}
		}
		return address{a.IP, a.TargetRef.UID}
	}
	ready := map[address]bool{}
	for _, subset := range p.endpoints.Subsets {
		for _, a := range subset.Addresses {
			if _, known := ready[of(a)]; !known {
				ready[of(a)] = true
			}
		}
		for _, a := range subset.NotReadyAddresses {
			ready[of(a)] = false
		}
	}
	for _, r := range ready {
		if r {
			serving++
		} else {
			notReady++
		}
	}
	return serving, notReady
}
