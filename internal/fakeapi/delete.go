package fakeapi

import (
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A deletion is what a delete request leads to.
type deletion struct {
	// marked is the object with its deletion recorded, to be stored first; nil
	// if there is nothing to record.
	marked runtime.Object
	// gone says that the object is then removed.
	gone bool
}

// prepareDelete decides a deletion. An object with finalizers is marked and
// waits for them; a running pod is marked and waits for its kubelet; all else
// goes at once.
func prepareDelete(res *resource, old runtime.Object, options *metav1.DeleteOptions, now time.Time) (deletion, error) {
	if err := checkPreconditions(res, old, options.Preconditions); err != nil {
		return deletion{}, err
	}
	obj := old.DeepCopyObject()
	graceful, pending := prepareGrace(res, obj, options.GracePeriodSeconds, now)
	if pending {
		return deletion{}, nil
	}
	m := metaOf(obj)
	finalizers := collectorFinalizers(res, m.GetFinalizers(), options)
	changed := !sameSet(finalizers, m.GetFinalizers())
	if changed {
		m.SetFinalizers(finalizers)
	}
	waits := len(finalizers) > 0
	switch {
	case graceful:
		left := m.GetDeletionGracePeriodSeconds()
		return deletion{marked: obj, gone: !waits && *left == 0}, nil
	case waits:
		markDeleting(m, now)
		return deletion{marked: obj}, nil
	}
	return deletion{gone: true}, nil
}

// prepareGrace records a graceful deletion in obj. pending means that one is
// already under way and this request does not shorten it.
func prepareGrace(res *resource, obj runtime.Object, asked *int64, now time.Time) (graceful, pending bool) {
	if res.grace == nil {
		return false, false
	}
	m := metaOf(obj)
	if m.GetDeletionTimestamp() != nil {
		return shortenGrace(m, asked, now)
	}
	period := res.grace(obj, asked)
	at := seconds(now.Add(time.Duration(period) * time.Second))
	m.SetDeletionTimestamp(&at)
	m.SetDeletionGracePeriodSeconds(&period)
	if m.GetGeneration() > 0 {
		m.SetGeneration(m.GetGeneration() + 1)
	}
	return true, false
}

// shortenGrace moves a deletion that is under way closer; it can never move it
// back. This is how a kubelet finishes: it deletes with a period of 0.
func shortenGrace(m metav1.Object, asked *int64, now time.Time) (graceful, pending bool) {
	left := m.GetDeletionGracePeriodSeconds()
	if left == nil || *left == 0 {
		return false, false
	}
	if asked == nil {
		return false, true
	}
	period := *asked
	if period < 0 {
		period = 1
	}
	if period >= *left {
		return false, true
	}
	at := m.GetDeletionTimestamp().Add(time.Duration(period-*left) * time.Second)
	if at.Before(now) {
		at = now
		if period != 0 {
			period = 1
		}
	}
	stamp := seconds(at)
	m.SetDeletionTimestamp(&stamp)
	m.SetDeletionGracePeriodSeconds(&period)
	return true, false
}

// markDeleting is the deletion of an object that waits for finalizers.
func markDeleting(m metav1.Object, now time.Time) {
	if m.GetDeletionTimestamp() == nil && m.GetGeneration() > 0 {
		m.SetGeneration(m.GetGeneration() + 1)
	}
	if at := m.GetDeletionTimestamp(); at == nil || at.After(now) {
		stamp := seconds(now)
		m.SetDeletionTimestamp(&stamp)
	}
	zero := int64(0)
	m.SetDeletionGracePeriodSeconds(&zero)
}

// collectorFinalizers returns the finalizers with those of the garbage
// collector as the request, or else the object, or else the kind asks.
func collectorFinalizers(res *resource, have []string, options *metav1.DeleteOptions) []string {
	var orphan, foreground bool
	switch {
	case res.ignoresPropagation:
	case options.OrphanDependents != nil: //nolint:staticcheck // old clients send it
		orphan = *options.OrphanDependents //nolint:staticcheck // see above
	case options.PropagationPolicy != nil:
		orphan = *options.PropagationPolicy == metav1.DeletePropagationOrphan
		foreground = *options.PropagationPolicy == metav1.DeletePropagationForeground
	case slices.Contains(have, metav1.FinalizerOrphanDependents):
		orphan = true
	case slices.Contains(have, metav1.FinalizerDeleteDependents):
		foreground = true
	default:
		orphan = res.orphans
	}
	var out []string
	for _, f := range have {
		if f != metav1.FinalizerOrphanDependents && f != metav1.FinalizerDeleteDependents {
			out = append(out, f)
		}
	}
	if orphan {
		out = append(out, metav1.FinalizerOrphanDependents)
	}
	if foreground {
		out = append(out, metav1.FinalizerDeleteDependents)
	}
	return out
}

func sameSet(a, b []string) bool {
	contains := func(in []string) func(string) bool {
		return func(s string) bool { return !slices.Contains(in, s) }
	}
	return !slices.ContainsFunc(a, contains(b)) && !slices.ContainsFunc(b, contains(a))
}

// checkPreconditions refuses to delete another object than the client meant.
func checkPreconditions(res *resource, old runtime.Object, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	m := metaOf(old)
	conflict := func(reason string) error {
		// The real server puts the kind where the resource belongs.
		return apierrors.NewConflict(schema.GroupResource{Group: res.Group, Resource: res.Kind.Kind}, m.GetName(), fmt.Errorf("%s", reason))
	}
	if p.UID != nil && *p.UID != m.GetUID() {
		return conflict(fmt.Sprintf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, m.GetUID()))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != m.GetResourceVersion() {
		return conflict(fmt.Sprintf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, m.GetResourceVersion()))
	}
	return nil
}
