// Package finalizer runs the cleanups of an object, each under the name of a finalizer.
//
// Data flow: an object -> which finalizers it lacks, and which cleanups are due (finalizer_step.go)
// -> the cleanups -> the object with other finalizers, and what the caller has to write.
//
// Neighbours: below it is package controllerutil, which changes lists of finalizers. Above it are
// reconcilers.
package finalizer

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/loopwright/loopwright/manager/client"
)

// Registerer knows cleanups by their names.
type Registerer interface {
	// Register adds a cleanup. The key is the name of its finalizer, such as "shop.example/dns". It
	// must be one that the API server accepts, and not be taken.
	Register(key string, f Finalizer) error
}

// Finalizer cleans up what an object has left outside of the cluster, or does other things that
// must happen before it goes.
//
// It is called again if it fails, if the write that follows it fails, and if the program ends between
// the two. So it must have the same effect when it finds that everything has been done. If the cleanup
// is not over when it returns, the answer is an error: reconcile.WaitFor, or one that is retried.
type Finalizer interface {
	// Finalize cleans up. It may change the object, and reports what it has changed. The caller writes
	// it.
	Finalize(context.Context, client.Object) (Result, error)
}

// Finalizers are the cleanups of one kind.
//
// Finalize, called in each reconcile, does what is due. If nobody deletes the object, it gets the
// finalizers that it lacks. The caller has to write it before it makes anything that needs cleaning
// up. If the object is being deleted, the cleanups are called of those finalizers that it has, in the
// order in which they were registered. A finalizer whose cleanup succeeds is removed; one that fails
// stays, and keeps none of the others from being called.
//
//	result, err := r.finalizers.Finalize(ctx, object)
//	if result.Updated {
//		err = errors.Join(err, r.Update(ctx, object))
//	}
//	if err != nil || !object.GetDeletionTimestamp().IsZero() {
//		return reconcile.Result{}, err
//	}
//
// Guarantees: finalizers that are not registered are left alone. It may be called from several
// goroutines.
//
// Errors: those of the cleanups, each with the name of its finalizer.
type Finalizers interface {
	Registerer
	Finalizer
}

// Result says what was changed in an object, in memory. If it is both, write the status first: the
// answer to the other write overwrites it, and the object may be gone after that.
type Result struct {
	// Updated says that something other than the status was changed. The caller has to write the
	// object.
	Updated bool
	// StatusUpdated says that the status was changed. The caller has to write it.
	StatusUpdated bool
}

// NewFinalizers returns Finalizers with no cleanup registered.
func NewFinalizers() Finalizers { return &registry{cleanups: map[string]Finalizer{}} }

// registry keeps its cleanups in order. controller-runtime calls them in the random order of a map.
type registry struct {
	mu       sync.RWMutex // guards names and cleanups
	names    []string     // in the order of registration; what is there is never changed
	cleanups map[string]Finalizer
}

// Register implements Registerer.
func (r *registry) Register(key string, f Finalizer) error {
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		return fmt.Errorf("the API server would refuse %q as the name of a finalizer: %s", key, strings.Join(problems, "; "))
	}
	if f == nil {
		return fmt.Errorf("the finalizer %q has no cleanup: it is nil", key)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cleanups[key] != nil {
		return fmt.Errorf("there is a cleanup for the finalizer %q already: each needs a name of its own", key)
	}
	r.names, r.cleanups[key] = append(r.names, key), f
	return nil
}

// Finalize implements Finalizer.
func (r *registry) Finalize(ctx context.Context, obj client.Object) (Result, error) {
	r.mu.RLock()
	names := r.names
	r.mu.RUnlock()
	pass := newPass(names)
	for name, due := pass.next(obj); due; name, due = pass.next(obj) {
		result, err := r.cleanup(name).Finalize(ctx, obj)
		pass.ended(obj, name, result, err)
	}
	return pass.outcome()
}

func (r *registry) cleanup(name string) Finalizer {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.cleanups[name]
}
