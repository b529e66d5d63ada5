// Package finalizer runs the cleanups of an object, each under the name of a finalizer.
//
// Data flow: an object -> which finalizers it lacks, and which cleanups are due (finalizer.go)
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

	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
)

// Registerer registers cleanups by name.
type Registerer interface {
	// Register adds a cleanup. The key is the name of its finalizer, such as "shop.example/dns".
	// The API server must accept this name, and no other cleanup may have it.
	Register(key string, f Finalizer) error
}

// Finalizer cleans up what an object has left outside of the cluster, or does other work that must
// happen before the object is deleted.
//
// It's called again if it fails, if the write that follows it fails, and if the program ends
// between the two. So a call after a complete cleanup must succeed. If the cleanup hasn't finished
// when it returns, it returns an error: reconcile.WaitFor, or an error that is retried.
type Finalizer interface {
	// Finalize cleans up. It may change the object, and returns what it has changed. The caller
	// writes it.
	Finalize(context.Context, client.Object) (Result, error)
}

// Finalizers are the cleanups of one kind.
//
// Call Finalize in each reconcile. If the object isn't being deleted, Finalize adds the finalizers
// that it lacks, and the caller has to write the object before it makes anything that needs
// cleaning up. If the object is being deleted, Finalize calls the cleanups of the finalizers that
// it has, in the order in which they were registered. A finalizer whose cleanup succeeds is
// removed; one whose cleanup fails stays, and the other cleanups still run.
//
//	result, err := r.finalizers.Finalize(ctx, object)
//	if result.Updated {
//		err = errors.Join(err, r.Update(ctx, object))
//	}
//	if err != nil || !object.GetDeletionTimestamp().IsZero() {
//		return reconcile.Result{}, err
//	}
//
// Guarantees: finalizers that aren't registered stay. It may be called from several goroutines.
//
// Errors: those of the cleanups, each with the name of its finalizer.
type Finalizers interface {
	Registerer
	Finalizer
}

// Result says what was changed in an object, in memory. If both are set, write the status first:
// the answer of the other write overwrites it, and the object may be gone after that.
type Result struct {
	// Updated is true if a part other than the status was changed. The caller has to write the
	// object.
	Updated bool
	// StatusUpdated is true if the status was changed. The caller has to write it.
	StatusUpdated bool
}

// NewFinalizers returns Finalizers with no cleanup registered.
func NewFinalizers() Finalizers { return &registry{cleanups: map[string]Finalizer{}} }

// registry keeps its cleanups in order. controller-runtime calls them in the random order of a map.
type registry struct {
	mu       sync.RWMutex // guards names and cleanups
	names    []string     // in the order of registration; the elements never change
	cleanups map[string]Finalizer
}

// Register implements Registerer.
func (r *registry) Register(key string, f Finalizer) error {
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		return fmt.Errorf("the API server would refuse %q as the name of a finalizer: %s",
			key, strings.Join(problems, "; "))
	}
	if f == nil {
		return fmt.Errorf("the finalizer %q has no cleanup: it is nil", key)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cleanups[key] != nil {
		return fmt.Errorf(
			"there is a cleanup for the finalizer %q already: each needs a name of its own", key)
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

// pass is one object's way through all registered finalizers. It decides what to add, what to run
// and what to remove, and calls no cleanup itself:
//
//	next     adds missing finalizers, and returns a cleanup that is due
//	ended    records the result of that cleanup
//	outcome  returns the result for the caller
type pass struct {
	left     []string // the registered names that next hasn't returned or skipped yet, in order
	result   Result
	failures []error
}

func newPass(registered []string) *pass { return &pass{left: registered} }

// next advances to the next finalizer whose cleanup is due, and returns its name. It returns false
// after the last one. It checks each name once, when its turn comes, because a cleanup may have
// changed the object.
//
// An object that isn't being deleted gets the finalizer if it lacks it. One that is being deleted
// gets none: the API server would refuse it.
func (p *pass) next(obj client.Object) (name string, due bool) {
	for len(p.left) > 0 {
		name, p.left = p.left[0], p.left[1:]
		switch {
		case !obj.GetDeletionTimestamp().IsZero():
			if controllerutil.ContainsFinalizer(obj, name) {
				return name, true
			}
		case controllerutil.AddFinalizer(obj, name):
			p.result.Updated = true
		}
	}
	return "", false
}

// ended removes the finalizer if its cleanup has succeeded. It must not do so earlier, because the
// object disappears with its last finalizer. It also records what a failed cleanup has changed,
// which may have written the reason to the status.
func (p *pass) ended(obj client.Object, name string, result Result, err error) {
	p.result.Updated = p.result.Updated || result.Updated
	p.result.StatusUpdated = p.result.StatusUpdated || result.StatusUpdated
	if err != nil {
		p.failures = append(p.failures,
			fmt.Errorf("the cleanup of the finalizer %q: %w", name, err))
		return
	}
	controllerutil.RemoveFinalizer(obj, name)
	p.result.Updated = true
}

// outcome returns the changes and the failures.
func (p *pass) outcome() (Result, error) { return p.result, failed(p.failures) }

// failed returns the failures as one error, or nil. It's an Aggregate with the same text as in
// controller-runtime. Unlike there, errors.As and reconcile.WaitsFor find the errors inside it.
func failed(errs []error) error {
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return oneFailure{kerrors.NewAggregate(errs)}
	default:
		return failures{kerrors.NewAggregate(errs)}
	}
}

// oneFailure unwraps to a single error, which may be a wait for another object.
type oneFailure struct{ kerrors.Aggregate }

func (f oneFailure) Unwrap() error { return f.Errors()[0] }

type failures struct{ kerrors.Aggregate }

func (f failures) Unwrap() []error { return f.Errors() }
