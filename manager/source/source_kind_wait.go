package source

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kindWait says how long a source waits for a kind, and when it says so.
type kindWait struct {
	tries int           // that failed
	sayAt time.Duration // since the wait began
}

const (
	firstPause   = 250 * time.Millisecond
	longestPause = 10 * time.Second
	firstSilence = 10 * time.Second
)

// failed is called after each try that has failed; waited is how long the wait takes already. It
// returns the pause before the next try, whether to say that the source waits, and how long
// nothing is to be said after that. Pauses and silences double; only the pauses have an end.
func (w *kindWait) failed(waited time.Duration) (pause time.Duration, say bool, silence time.Duration) {
	pause = min(firstPause<<min(w.tries, 16), longestPause)
	w.tries++
	if say = waited >= w.sayAt; say {
		w.sayAt = max(2*waited, firstSilence)
	}
	return pause, say, w.sayAt - waited
}

// missingKind returns the kind that is not installed, if the error says that one is not.
func missingKind(err error) (kind schema.GroupVersionKind, ok bool) {
	var missing *meta.NoKindMatchError
	if !errors.As(err, &missing) {
		return schema.GroupVersionKind{}, false
	}
	kind = missing.GroupKind.WithVersion("")
	if len(missing.SearchedVersions) > 0 {
		kind.Version = missing.SearchedVersions[0]
	}
	return kind, true
}

// isUnregistered reports whether a scheme does not know a type. That does not change while a
// program runs.
func isUnregistered(err error) bool {
	if runtime.IsNotRegisteredError(err) {
		return true
	}
	switch err := err.(type) { // errors.As does not serve: the error's type has no exported name
	case interface{ Unwrap() error }:
		return isUnregistered(err.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(err.Unwrap(), isUnregistered)
	}
	return false
}

// explain says what to do about an error of GetInformer.
func explain(err error) error {
	if kind, ok := missingKind(err); ok {
		group := "the group " + kind.Group
		if kind.Group == "" {
			group = "the core group"
		}
		if kind.Version != "" {
			group += ", version " + kind.Version
		}
		return fmt.Errorf("the kind %s of %s is not installed; is its CustomResourceDefinition there? %w", kind.Kind, group, err)
	}
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the kind is not installed; is its CustomResourceDefinition there? %w", err)
	}
	if isUnregistered(err) {
		return fmt.Errorf("the Go type has to be added to the Scheme, before the source is started: %w", err)
	}
	return fmt.Errorf("the cache has no informer: %w", err)
}
