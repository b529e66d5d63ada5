// Package resourcelock keeps the record of an election where all replicas can read and write it:
// in a Lease.
//
// The elector reads, creates and updates the record; a lock turns that into requests. An update
// succeeds only if nobody else has written since the lock last read or wrote. That makes it a lock.
//
// Neighbours: below it is client-go's typed client for Leases. Above it is the elector of package
// leaderelection. Names and fields are those of client-go's tools/leaderelection/resourcelock.
package resourcelock

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/internal/useragent"
)

// LeasesResourceLock is the only type of lock.
const LeasesResourceLock = "leases"

// LeaderElectionRecordAnnotationKey is where your own lock keeps the record, as JSON, if its object
// has no fields for it. A Lease has fields.
const LeaderElectionRecordAnnotationKey = "control-plane.alpha.kubernetes.io/leader"

// New returns a lock. The type must be LeasesResourceLock. The client for the core group isn't
// used; the parameter is there because client-go has it.
func New(
	lockType string, ns string, name string, coreClient corev1client.CoreV1Interface,
	coordinationClient coordinationv1client.CoordinationV1Interface, rlc ResourceLockConfig,
) (Interface, error) {
	return NewWithLabels(lockType, ns, name, coreClient, coordinationClient, rlc, nil)
}

// NewWithLabels is New with labels that the holder sets on the Lease.
func NewWithLabels(
	lockType string, ns string, name string, _ corev1client.CoreV1Interface,
	coordinationClient coordinationv1client.CoordinationV1Interface, rlc ResourceLockConfig,
	labels map[string]string,
) (Interface, error) {
	if lockType != LeasesResourceLock {
		return nil, fmt.Errorf("there is no lock of type %q: use %q, the only one that "+
			"Kubernetes still has", lockType, LeasesResourceLock)
	}
	return &LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: ns, Name: name},
		Client:     coordinationClient,
		LockConfig: rlc,
		Labels:     labels,
	}, nil
}

// NewFromKubeconfig makes the client, too. A request may take half of the renew deadline, and a
// second at least, so that one that hangs doesn't cost the lock.
func NewFromKubeconfig(
	lockType string, ns string, name string, rlc ResourceLockConfig, kubeconfig *rest.Config,
	renewDeadline time.Duration,
) (Interface, error) {
	config := useragent.Of(kubeconfig, "leader-election")
	config.Timeout = max(renewDeadline/2, time.Second)
	client, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for the Lease %s/%s: %w", ns, name, err)
	}
	return New(lockType, ns, name, nil, client, rlc)
}
