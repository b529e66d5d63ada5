package resourcelock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// LeaseLock keeps the record in the spec of a Lease. The Lease's resourceVersion makes it a lock:
// an update names the version that it was made from, and the API server refuses it if there's a
// newer one.
type LeaseLock struct {
	// LeaseMeta has the namespace and the name.
	LeaseMeta  metav1.ObjectMeta
	Client     coordinationv1client.LeasesGetter
	LockConfig ResourceLockConfig
	// Labels are set on the Lease by the replica that takes it. Other labels stay.
	Labels map[string]string

	// guards lease, which RecordEvent reads while a request is in flight
	mu    sync.Mutex
	lease *coordinationv1.Lease // as last read or written; never changed in place
}

var _ Interface = (*LeaseLock)(nil)

// Get reads the Lease.
func (l *LeaseLock) Get(ctx context.Context) (*LeaderElectionRecord, []byte, error) {
	lease, err := l.Client.Leases(l.LeaseMeta.Namespace).Get(ctx, l.LeaseMeta.Name,
		metav1.GetOptions{})
	if err == nil {
		err = l.keep(lease)
	}
	if err != nil {
		return nil, nil, err
	}
	// The bytes are the Lease's spec, with microseconds. client-go returns the record's JSON, with
	// seconds, so two renewals in one second look like one.
	raw, err := json.Marshal(lease.Spec)
	return LeaseSpecToLeaderElectionRecord(&lease.Spec), raw, err
}

// Create makes the Lease.
func (l *LeaseLock) Create(ctx context.Context, ler LeaderElectionRecord) error {
	lease, err := l.Client.Leases(l.LeaseMeta.Namespace).Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: l.LeaseMeta.Namespace, Name: l.LeaseMeta.Name, Labels: maps.Clone(l.Labels),
		},
		Spec: LeaderElectionRecordToLeaseSpec(&ler),
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return l.keepWritten(lease, ler)
}

// Update writes the Lease, if it's still the one that was read or written last.
func (l *LeaseLock) Update(ctx context.Context, ler LeaderElectionRecord) error {
	known := l.known()
	if known == nil {
		return errors.New("updating the Lease " + l.Describe() +
			": it has not been read yet; call Get or Create first")
	}
	// A failed update must not change known: its labels and spec belong to its resourceVersion.
	lease := known.DeepCopy()
	lease.Spec = LeaderElectionRecordToLeaseSpec(&ler)
	if lease.Labels == nil && len(l.Labels) > 0 {
		lease.Labels = map[string]string{}
	}
	maps.Copy(lease.Labels, l.Labels)
	lease, err := l.Client.Leases(l.LeaseMeta.Namespace).Update(ctx, lease, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	return l.keepWritten(lease, ler)
}

// RecordEvent writes an event about the Lease, if there's a recorder.
func (l *LeaseLock) RecordEvent(what string) {
	if l.LockConfig.EventRecorder == nil {
		return
	}
	subject := &coordinationv1.Lease{ObjectMeta: l.LeaseMeta}
	if known := l.known(); known != nil { // with the UID, which ties the event to this Lease
		subject.ObjectMeta = *known.ObjectMeta.DeepCopy()
	}
	subject.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("Lease"))
	l.LockConfig.EventRecorder.Eventf(subject, corev1.EventTypeNormal,
		"LeaderElection", "%s %s", l.LockConfig.Identity, what)
}

// Describe is the Lease's namespace and name.
func (l *LeaseLock) Describe() string {
	return fmt.Sprintf("%s/%s", l.LeaseMeta.Namespace, l.LeaseMeta.Name)
}

// Identity is the name of this replica.
func (l *LeaseLock) Identity() string { return l.LockConfig.Identity }

// keep remembers the Lease of an answer. It returns an error if the answer isn't about our Lease:
// a proxy that answers everything with 200 and {} has sent a Lease, as far as client-go can tell.
func (l *LeaseLock) keep(lease *coordinationv1.Lease) error {
	if lease.Name != l.LeaseMeta.Name {
		return fmt.Errorf("the answer isn't the Lease %s, but one named %q: "+
			"something other than the API server may have sent it", l.Describe(), lease.Name)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lease = lease
	return nil
}

// keepWritten is keep for the answer to a write. If the answer has another holder, an elector that
// went on would work beside that one. A cache may repeat the answer to an earlier renewal: that one
// has the right holder, and another time.
func (l *LeaseLock) keepWritten(lease *coordinationv1.Lease, written LeaderElectionRecord) error {
	if holder := valueOf(lease.Spec.HolderIdentity); holder != written.HolderIdentity {
		return fmt.Errorf("the Lease %s has the holder %q in the answer to a write of %q",
			l.Describe(), holder, written.HolderIdentity)
	}
	renewed := valueOf(lease.Spec.RenewTime).Truncate(time.Microsecond)
	if !renewed.Equal(written.RenewTime.Truncate(time.Microsecond)) {
		return fmt.Errorf("the Lease %s was renewed at %s in the answer to a write of %s: "+
			"something other than the API server may have sent it",
			l.Describe(), renewed, written.RenewTime)
	}
	return l.keep(lease)
}

func (l *LeaseLock) known() *coordinationv1.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lease
}

// LeaseSpecToLeaderElectionRecord reads the record from a Lease. A missing field is zero.
func LeaseSpecToLeaderElectionRecord(spec *coordinationv1.LeaseSpec) *LeaderElectionRecord {
	record := &LeaderElectionRecord{
		HolderIdentity:       valueOf(spec.HolderIdentity),
		LeaseDurationSeconds: int(valueOf(spec.LeaseDurationSeconds)),
		LeaderTransitions:    int(valueOf(spec.LeaseTransitions)),
		AcquireTime:          metav1.Time{Time: valueOf(spec.AcquireTime).Time},
		RenewTime:            metav1.Time{Time: valueOf(spec.RenewTime).Time},
		Strategy:             valueOf(spec.Strategy),
		PreferredHolder:      valueOf(spec.PreferredHolder),
	}
	return record
}

// LeaderElectionRecordToLeaseSpec writes the record into a Lease.
func LeaderElectionRecordToLeaseSpec(ler *LeaderElectionRecord) coordinationv1.LeaseSpec {
	spec := coordinationv1.LeaseSpec{
		HolderIdentity:       new(ler.HolderIdentity),
		LeaseDurationSeconds: new(int32(ler.LeaseDurationSeconds)),
		AcquireTime:          &metav1.MicroTime{Time: ler.AcquireTime.Time},
		RenewTime:            &metav1.MicroTime{Time: ler.RenewTime.Time},
		LeaseTransitions:     new(int32(ler.LeaderTransitions)),
	}
	// The API server refuses both fields when they are empty.
	if ler.PreferredHolder != "" {
		spec.PreferredHolder = new(ler.PreferredHolder)
	}
	if ler.Strategy != "" {
		spec.Strategy = new(ler.Strategy)
	}
	return spec
}

func valueOf[T any](pointer *T) (value T) {
	if pointer != nil {
		value = *pointer
	}
	return value
}
