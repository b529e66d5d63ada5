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
	// again is how long a failed write waits. An API server that is there answers, so this is for one that is not,
	// and for permissions that are still to be given.
	again = 2 * time.Second
	// spareLook is how often a configuration is read although no change was seen.
	spareLook = 5 * time.Minute
)

// target is a configuration that is to have our bundle.
type target struct {
	kind schema.GroupVersionKind
	name string
}

func (t target) String() string { return t.kind.Kind + " " + t.name }

// publisher keeps the bundle in one target. One goroutine runs it.
type publisher struct {
	client client.WithWatch
	target target
	// bundle returns the present bundle, and a channel that is closed when there is another.
	bundle func() ([]byte, <-chan struct{})
	// report is called with the bundle that the target has, or with what is wrong.
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

// watch does so until the watch ends, as each one does after some minutes, and returns an error if there is
// none. The first events of a watch are the objects that are there, so
// nothing is missed between two of them.
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
		case ctx.Err() != nil: // which is why put has failed, if it has
			return nil
		case err == nil:
			t.report(t.target, bundle, nil)
		default:
			t.report(t.target, nil, err)
		}
		wait := spareLook
		if err != nil && !apierrors.IsNotFound(err) { // a target that is created is an event
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

// put writes the bundle into the target, unless it is there.
func (t publisher) put(ctx context.Context, bundle []byte) error {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(t.target.kind)
	if err := t.client.Get(ctx, client.ObjectKey{Name: t.target.name}, object); err != nil {
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("there is no %s yet; the CA's certificate will be written into it: %w", t.target, err)
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
	// The resource version goes along: a user's change in between leads to a conflict, and to another try.
	if err := t.client.Update(ctx, object); err != nil {
		return fmt.Errorf("writing the CA's certificate into %s: %w", t.target, hint(err))
	}
	packageLog.Info("Wrote the CA's certificate", "into", t.target.String())
	return nil
}

// hint adds what helps against the two mistakes that are easy to make.
func hint(err error) error {
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w (the program's account needs the verbs get, list, watch and update for this resource)", err)
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
