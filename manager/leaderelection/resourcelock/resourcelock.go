// Package resourcelock keeps the record of an election where all replicas can read and write it:
// in a Lease.
//
// The elector reads, creates and updates the record; a lock turns that into requests. An update
// succeeds only if nothing else has written since the lock last read or wrote: this is what makes
// it a lock.
//
// Neighbours: below it is client-go's typed client for Leases. Above it is the elector of package
// leaderelection. Names and fields are those of client-go's tools/leaderelection/resourcelock.
package resourcelock

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// LeasesResourceLock is the only type of lock.
const LeasesResourceLock = "leases"

// LeaderElectionRecordAnnotationKey is where your own lock keeps the record, as JSON, if its object
// has no fields for it. A Lease has fields.
const LeaderElectionRecordAnnotationKey = "control-plane.alpha.kubernetes.io/leader"

// Interface is a lock: an object that all replicas can read, and that one at a time can write. The
// elector makes one call at a time.
//
// Guarantees that an implementation has to give: Get returns the present state, not an older one.
// Create fails if there is a record. Update fails if the record is not the one that this lock got
// or wrote last. An error may mean anything, even that the write has happened; the elector
// understands only NotFound, from Get.
//
// Identity and Describe may be called at any time, and so may RecordEvent.
type Interface interface {
	// Get returns the record, and its bytes, which change if any part of it changes.
	Get(ctx context.Context) (*LeaderElectionRecord, []byte, error)
	Create(ctx context.Context, ler LeaderElectionRecord) error
	Update(ctx context.Context, ler LeaderElectionRecord) error
	// RecordEvent reports what happened to the lock: "became leader", "stopped leading".
	RecordEvent(string)
	// Identity is the name under which this replica takes the lock. No two replicas may have the
	// same.
	Identity() string
	// Describe names the lock in messages: "namespace/name".
	Describe() string
}

// LeaderElectionRecord says who leads. The times are by the holder's clock, and are for people: no
// replica may rely on another one's clock.
type LeaderElectionRecord struct {
	// HolderIdentity is empty if the last holder has released the lock. Then any replica may take
	// it at once.
	HolderIdentity string `json:"holderIdentity"`
	// LeaseDurationSeconds is how long the others wait after the last renewal that they have seen.
	LeaseDurationSeconds int         `json:"leaseDurationSeconds"`
	AcquireTime          metav1.Time `json:"acquireTime"`
	RenewTime            metav1.Time `json:"renewTime"`
	// LeaderTransitions counts the times that the lock has been taken.
	LeaderTransitions int `json:"leaderTransitions"`
	// Strategy and PreferredHolder belong to the coordinated election of kube-apiserver, which this
	// package does not support.
	Strategy        coordinationv1.CoordinatedLeaseStrategy `json:"strategy"`
	PreferredHolder string                                  `json:"preferredHolder"`
}

// EventRecorder writes events about an object.
type EventRecorder interface {
	Eventf(obj runtime.Object, eventType, reason, message string, args ...any)
}

// ResourceLockConfig identifies the replica, and says where its events go.
type ResourceLockConfig struct {
	// Identity must be different in every replica, and after every restart of one.
	Identity string
	// EventRecorder may be nil.
	EventRecorder EventRecorder
}

// New returns a lock. The type must be LeasesResourceLock. The client for the core group is not
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
// second at least, so that one that hangs does not cost the lock.
func NewFromKubeconfig(
	lockType string, ns string, name string, rlc ResourceLockConfig, kubeconfig *rest.Config,
	renewDeadline time.Duration,
) (Interface, error) {
	config := rest.AddUserAgent(rest.CopyConfig(kubeconfig), "leader-election")
	config.Timeout = max(renewDeadline/2, time.Second)
	client, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for the Lease %s/%s: %w", ns, name, err)
	}
	return New(lockType, ns, name, nil, client, rlc)
}
