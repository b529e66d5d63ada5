package mini

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// ContainsFinalizer returns true if obj has the finalizer.
func ContainsFinalizer(obj Object, finalizer string) bool {
	return slices.Contains(obj.GetFinalizers(), finalizer)
}

// AddFinalizer adds the finalizer to obj, in memory only. It returns false if obj has it
// already.
func AddFinalizer(obj Object, finalizer string) (changed bool) {
	if ContainsFinalizer(obj, finalizer) {
		return false
	}
	obj.SetFinalizers(append(slices.Clone(obj.GetFinalizers()), finalizer))
	return true
}

// RemoveFinalizer removes the finalizer from obj, in memory only. It returns false if
// obj does not have it.
func RemoveFinalizer(obj Object, finalizer string) (changed bool) {
	if !ContainsFinalizer(obj, finalizer) {
		return false
	}
	obj.SetFinalizers(slices.DeleteFunc(slices.Clone(obj.GetFinalizers()),
		func(f string) bool { return f == finalizer }))
	return true
}

// Finalizing is a Reconciler for objects that stand for something outside of the cluster:
// a DNS name, a bucket. The API server keeps a deleted object until its finalizers are
// gone, so the outside can be cleaned up first.
//
// Guarantees: Next is called only if the API server has stored the finalizer: a process
// that dies in Next leaves an object that will be cleaned up. The finalizer is removed
// only after Cleanup has returned nil.
//
// Caveats: Cleanup is called again if the process dies after it, or if the finalizer
// cannot be removed. It must return nil if there is nothing left to clean up, or if Next
// has never been called.
type Finalizing[T Object] struct {
	Client    *CachedClient
	Finalizer string // with a domain: example.com/bucket
	Cleanup   func(ctx context.Context, obj T) error
	Next      Reconciler // for objects that are not being deleted
}

// Reconcile adds the finalizer and calls Next, or, if the object is being deleted, calls
// Cleanup and removes the finalizer.
func (f *Finalizing[T]) Reconcile(ctx context.Context, req Request) (Result, error) {
	obj, err := Get[T](ctx, f.Client, req)
	if err != nil {
		return Result{}, IgnoreNotFound(err) // no object, no finalizer of ours
	}
	if obj.GetDeletionTimestamp() == nil {
		if AddFinalizer(obj, f.Finalizer) {
			if err := f.write(ctx, obj); err != nil {
				return Result{}, err
			}
		}
		return f.Next.Reconcile(ctx, req)
	}
	if !ContainsFinalizer(obj, f.Finalizer) {
		return Result{}, nil // the object waits for the finalizers of other processes
	}
	if err := f.Cleanup(ctx, obj); err != nil {
		return Result{}, fmt.Errorf("cleaning up for %s: %w", req, err)
	}
	RemoveFinalizer(obj, f.Finalizer)
	return Result{}, f.write(ctx, obj)
}

// write stores the finalizers and nothing else: an update would drop fields that the Go
// type does not know. The list is replaced whole, so the resourceVersion must be the
// stored one: finalizers that another process has added since would be lost.
func (f *Finalizing[T]) write(ctx context.Context, obj T) error {
	metadata := map[string]any{
		"resourceVersion": obj.GetResourceVersion(), "finalizers": obj.GetFinalizers(),
	}
	patch, _ := json.Marshal(map[string]any{"metadata": metadata}) // strings never fail
	return f.Client.Patch(ctx, obj, types.MergePatchType, patch)
}
