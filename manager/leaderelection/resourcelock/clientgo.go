package resourcelock

import clientgo "k8s.io/client-go/tools/leaderelection/resourcelock"

// The types of this file are client-go's own: interfaces, and plain structs. They stand in
// signatures that a program's types have to match, and in Go only the same type does. The lock is
// this package's.

// Interface is a lock: an object that all replicas can read, and that one at a time can write. The
// elector makes one call at a time.
//
// Guarantees that an implementation has to give: Get returns the present state, not an older one,
// with its bytes, which change if any part of it changes. Create fails if there's a record. Update
// fails if the record isn't the one that this lock got or wrote last. An error may mean anything,
// even that the write has happened; the elector understands only NotFound, from Get.
//
// RecordEvent reports what happened to the lock: "became leader", "stopped leading". Identity is the
// name under which this replica takes the lock; no two replicas may have the same. Describe names
// the lock in messages: "namespace/name". The three may be called at any time.
type Interface = clientgo.Interface

// LeaderElectionRecord says who leads. The times are by the holder's clock, and are for people: no
// replica may rely on another one's clock.
//
// HolderIdentity is empty if the last holder has released the lock: then any replica may take it at
// once. LeaseDurationSeconds is how long the others wait after the last renewal that they have seen.
// LeaderTransitions counts the times that the lock has been taken. Strategy and PreferredHolder
// belong to the coordinated election of kube-apiserver, which this package doesn't support.
type LeaderElectionRecord = clientgo.LeaderElectionRecord

// EventRecorder writes events about an object.
type EventRecorder = clientgo.EventRecorder

// ResourceLockConfig identifies the replica, and says where its events go. Identity must be different
// in every replica, and after every restart of one. EventRecorder may be nil.
type ResourceLockConfig = clientgo.ResourceLockConfig
