// Package config holds settings that several controllers share.
//
// A manager is given a Controller, and passes it to each controller.Options, which use it for the
// fields that they do not set themselves.
//
// Neighbours: below it are only the types of the logger and the flight recorder. Above it are the
// controller and the manager.
package config

import (
	"time"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/trace"
)

// Controller has the defaults of controllers. A controller's own options override them. See
// controller.Options for what each field means.
type Controller struct {
	SkipNameValidation *bool
	// GroupKindConcurrency is how many requests the controller of a kind may reconcile at a time,
	// by the kind as schema.GroupKind prints it: "ReplicaSet.apps". The builder uses it.
	GroupKindConcurrency    map[string]int
	MaxConcurrentReconciles int
	CacheSyncTimeout        time.Duration
	RecoverPanic            *bool
	NeedLeaderElection      *bool
	EnableWarmup            *bool
	UsePriorityQueue        *bool
	Logger                  logr.Logger
	ReconciliationTimeout   time.Duration
	// Strict is that of manager.Options: reconciles have a grace period, and namespaces take turns.
	// controller-runtime has no such field.
	Strict bool
	// Recorder is the flight recorder; nil is off. controller-runtime has no such field.
	Recorder *trace.Recorder
}
