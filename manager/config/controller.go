// Package config holds settings that several controllers share.
//
// A manager has one Controller and passes it to each controller.Options, which takes the fields
// that it doesn't set itself.
//
// Neighbours: below it are only the types of the logger and the flight recorder. Above it are the
// controller and the manager.
package config

import (
	"context"
	"time"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/trace"
)

// Controller has the defaults of controllers. A controller's own options override them, and
// controller.Options says what each field means.
type Controller struct {
	SkipNameValidation *bool
	// GroupKindConcurrency is how many requests the controller of a kind may reconcile at the same
	// time. The key is the kind as schema.GroupKind prints it: "ReplicaSet.apps". The builder uses
	// it.
	GroupKindConcurrency    map[string]int
	MaxConcurrentReconciles int
	CacheSyncTimeout        time.Duration
	RecoverPanic            *bool
	NeedLeaderElection      *bool
	EnableWarmup            *bool
	UsePriorityQueue        *bool
	Logger                  logr.Logger
	ReconciliationTimeout   time.Duration
	// Strict comes from manager.Options: reconciles get a grace period, and namespaces take turns.
	// controller-runtime has no such field.
	Strict bool
	// Recorder is the flight recorder; nil is off. controller-runtime has no such field.
	Recorder *trace.Recorder
	// Override returns the settings that the program's user has chosen for the controller with this
	// name, in a file for instance. They win over all other settings; a nil function means there
	// are none. See package configfile. If your own manager returns other settings, it should keep
	// this one. controller-runtime has no such field.
	Override func(name string) Override
	// Shards say which requests a controller may work on now, if several replicas share the work;
	// nil means that it may work on all. They come from manager.Options.Sharding, and hold for
	// controllers that need leader election. controller-runtime has no such field.
	Shards Shards
}

// Shards are the shards of one replica. The implementation is sharding.Gate.
type Shards interface {
	// Enter asks whether work on an object of a namespace may begin. If so, the work's context ends
	// with ctx, or when the namespace belongs to another replica; call leave when the work has ended.
	Enter(ctx context.Context, namespace string) (working context.Context, leave func(), ok bool)
	// OnOpen calls f whenever work may begin in namespaces where it might not before; opened says
	// which. f must return at once. Call forget when f should no longer be called.
	OnOpen(f func(opened func(namespace string) bool)) (forget func())
}

// Override has settings of one controller that win over those in the program. A nil field changes
// nothing.
type Override struct {
	// Workers is MaxConcurrentReconciles.
	Workers *int
	// MaxRetries is how often a request is retried; 0 is without limit.
	MaxRetries *int
	// RetryDelay is the delay before the first retry. It doubles with each retry, up to
	// LongestRetryDelay. The defaults are 5 ms and 1000 s.
	RetryDelay, LongestRetryDelay *time.Duration
	// RetriesPerSecond limits the retries of all requests together; RetryBurst is how many may
	// happen at once, 1 by default. Without RetriesPerSecond there's no limit.
	RetriesPerSecond *float64
	RetryBurst       *int

	CacheSyncTimeout, ReconciliationTimeout, GracePeriod, WaitFallback *time.Duration
	DrainOnStop                                                        *bool
}
