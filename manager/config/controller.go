// Package config holds settings that are for several controllers at a time.
//
// A manager is given a Controller, and hands it to each controller.Options, which take from it
// what they do not say themselves.
//
// Neighbours: below it is nothing but the types of the logger and the flight recorder. Above it are the controller and the
// manager.
package config

import (
	"time"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/trace"
)

// Controller has the defaults of controllers. What a controller's own options say counts more.
// See controller.Options for what each field means.
type Controller struct {
	SkipNameValidation *bool
	// GroupKindConcurrency is how many requests a controller for a kind may work on at a time,
	// by the name that schema.GroupKind prints: "ReplicaSet.apps". The builder uses it.
	GroupKindConcurrency    map[string]int
	MaxConcurrentReconciles int
	CacheSyncTimeout        time.Duration
	RecoverPanic            *bool
	NeedLeaderElection      *bool
	EnableWarmup            *bool
	UsePriorityQueue        *bool
	Logger                  logr.Logger
	ReconciliationTimeout   time.Duration
	// Strict is that of manager.Options: reconciles have a grace period, and namespaces take turns. It is ours.
	Strict bool
	// Recorder is the flight recorder; nil is off. controller-runtime does not have it.
	Recorder *trace.Recorder
}
