package devca

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/manager/client"
)

const (
	// again is the delay after a failed write. It matters only when the API server is unreachable,
	// or when a permission is still missing.
	again = 2 * time.Second
	// spareLook is how often a configuration is read although the watch reported no change.
	spareLook = 5 * time.Minute
)

// target is a configuration that needs our bundle.
type target struct {
	kind schema.GroupVersionKind
	name string
}

func (t target) String() string { return t.kind.Kind + " " + t.name }

// publisher keeps the bundle in one target. One goroutine runs it.
type publisher struct {
	client client.WithWatch
	target target
	// bundle returns the current bundle, and a channel that is closed when there's a new one.
	bundle func() ([]byte, <-chan struct{})
	// report is called with the bundle that the target has, or with the error.
	report func(target, []byte, error)
}

// run writes the bundle whenever it, or the target, has changed, until the context ends.
func (t publisher) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := t.watch(ctx); err != nil && ctx.Err() == nil {
			t.report(t.target, nil, err)
		}
		pause(ctx, again)
	}
}

// watch runs one watch until it ends, as each one does after some minutes, or returns an error if
// it can't start one. The first events of a watch are the existing objects, so no change between
// two watches is missed.
func (t publisher) watch(ctx context.Context) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(t.target.kind.GroupVersion().WithKind(t.target.kind.Kind + "List"))
	changes, err := t.client.Watch(ctx, list, client.MatchingFields{"metadata.name": t.target.name})
	if err != nil {
		return fmt.Errorf("watching %s: %w", t.target, hint(err))
	}
	defer changes.Stop()
	for {
		bundle, another := t.bundle()
		err := t.put(ctx, bundle)
		switch {
		case ctx.Err() != nil: // so put may have failed
			return nil
		case err == nil:
			t.report(t.target, bundle, nil)
		default:
			t.report(t.target, nil, err)
		}
		wait := spareLook
		// when the target is created, the watch sends an event
		if err != nil && !t.isMissing(err) {
			wait = again
		}
		select {
		case <-another:
		case <-time.After(wait):
		case event, open := <-changes.ResultChan():
			if !open || event.Type == watch.Error {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// isMissing reports whether the API server says that there's no target. A proxy's 404 is no reason
// to wait until somebody creates it.
func (t publisher) isMissing(err error) bool {
	return client.IsAbsent(err, client.ObjectKey{Name: t.target.name})
}

// put writes the bundle into the target, unless the target has it.
func (t publisher) put(ctx context.Context, bundle []byte) error {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(t.target.kind)
	if err := t.client.Get(ctx, client.ObjectKey{Name: t.target.name}, object); err != nil {
		if t.isMissing(err) {
			return fmt.Errorf("there is no %s yet; "+
				"the CA's certificate will be written into it: %w", t.target, err)
		}
		return fmt.Errorf("reading %s: %w", t.target, hint(err))
	}
	changed, err := putBundle(object, bundle)
	if err != nil {
		return fmt.Errorf("%s cannot have the CA's certificate: %w", t.target, err)
	}
	if !changed {
		return nil
	}
	// The update names the resourceVersion: a user's change in between leads to a conflict, and to
	// a retry.
	if err := t.client.Update(ctx, object); err != nil {
		return fmt.Errorf("writing the CA's certificate into %s: %w", t.target, hint(err))
	}
	packageLog.Info("Wrote the CA's certificate", "into", t.target.String())
	return nil
}

// hint adds advice for two common mistakes.
func hint(err error) error {
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w (the program's account needs the verbs get, list, watch and "+
			"update for this resource)", err)
	case meta.IsNoMatchError(err):
		return fmt.Errorf("%w (the API server does not serve this kind)", err)
	}
	return err
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
