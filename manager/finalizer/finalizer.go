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

// pass is the way of one object through all registered finalizers. It decides what to add, what to
// run and what to remove, and calls nothing itself:
//
//	next   adds what is missing, and returns a cleanup that is due
//	ended  takes the answer of that cleanup
//	outcome is what the caller hears in the end
type pass struct {
	left     []string // the registered names that have not been looked at yet, in order
	result   Result
	failures []error
}

func newPass(registered []string) *pass { return &pass{left: registered} }

// next looks at one name after the other until a cleanup is due, and returns its name. It returns
// false after the last one. A name is looked at once, and when it is its turn: a cleanup may have
// changed the object.
//
// An object that nobody deletes gets the finalizer, if it lacks it. One that is being deleted gets
// no finalizer: the server would refuse it.
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

// ended removes the finalizer if its cleanup has succeeded: not sooner, because nobody looks at the
// object again when its last finalizer is gone. What a failed cleanup has changed counts, too. It may
// have said in the status why it failed.
func (p *pass) ended(obj client.Object, name string, result Result, err error) {
	p.result.Updated = p.result.Updated || result.Updated
	p.result.StatusUpdated = p.result.StatusUpdated || result.StatusUpdated
	if err != nil {
		p.failures = append(p.failures, fmt.Errorf("the cleanup of the finalizer %q: %w", name, err))
		return
	}
	controllerutil.RemoveFinalizer(obj, name)
	p.result.Updated = true
}

// outcome returns what was changed, and what has failed.
func (p *pass) outcome() (Result, error) { return p.result, failed(p.failures) }

// failed is what has failed as one error, or nil. It is an Aggregate, as in controller-runtime, and
// reads like one. Other than there, errors.As and reconcile.WaitsFor find what is in it.
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

// oneFailure unwraps to a single error, so that it may be one that waits for another object.
type oneFailure struct{ kerrors.Aggregate }

func (f oneFailure) Unwrap() error { return f.Errors()[0] }

type failures struct{ kerrors.Aggregate }

func (f failures) Unwrap() []error { return f.Errors() }
