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

// AddFinalizer adds the finalizer to obj, only in memory. It returns false if obj already
// has it.
func AddFinalizer(obj Object, finalizer string) (changed bool) {
	if ContainsFinalizer(obj, finalizer) {
		return false
	}
	obj.SetFinalizers(append(slices.Clone(obj.GetFinalizers()), finalizer))
	return true
}

// RemoveFinalizer removes the finalizer from obj, only in memory. It returns false if obj
// doesn't have it.
func RemoveFinalizer(obj Object, finalizer string) (changed bool) {
	if !ContainsFinalizer(obj, finalizer) {
		return false
	}
	obj.SetFinalizers(slices.DeleteFunc(slices.Clone(obj.GetFinalizers()),
		func(f string) bool { return f == finalizer }))
	return true
}

// Finalizing is a Reconciler for objects that stand for something outside the cluster,
// such as a DNS name or a bucket. The API server keeps a deleted object until its
// finalizers have been removed, so we can clean up outside first.
//
// Guarantees: Next is called only once the API server has stored the finalizer, so if the
// process dies in Next, the object will still be cleaned up. The finalizer is removed
// only after Cleanup has returned nil.
//
// Caveats: Cleanup is called again if the process dies after it, or if the finalizer
// can't be removed. It must return nil if there's nothing left to clean up, even if Next
// has never been called.
type Finalizing[T Object] struct {
	Client    *CachedClient
	Finalizer string // with a domain: example.com/bucket
	Cleanup   func(ctx context.Context, obj T) error
	Next      Reconciler // for objects that aren't being deleted
}

// Reconcile adds the finalizer and calls Next. If the object is being deleted, it calls
// Cleanup and removes the finalizer instead.
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
		return Result{}, nil // the object waits for other processes' finalizers
	}
	if err := f.Cleanup(ctx, obj); err != nil {
		return Result{}, fmt.Errorf("cleaning up for %s: %w", req, err)
	}
	RemoveFinalizer(obj, f.Finalizer)
	return Result{}, f.write(ctx, obj)
}

// write stores only the finalizers: an update would drop fields that the Go type doesn't
// know. The patch replaces the whole list. So it has the resourceVersion that we read, or
// finalizers that another process has added since would be lost.
func (f *Finalizing[T]) write(ctx context.Context, obj T) error {
	metadata := map[string]any{
		"resourceVersion": obj.GetResourceVersion(), "finalizers": obj.GetFinalizers(),
	}
	patch, _ := json.Marshal(map[string]any{"metadata": metadata}) // strings never fail
	return f.Client.Patch(ctx, obj, types.MergePatchType, patch)
}
