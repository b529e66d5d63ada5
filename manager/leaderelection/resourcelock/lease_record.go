package resourcelock

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LeaseSpecToLeaderElectionRecord reads the record out of a Lease. A field that is not there is
// zero.
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
