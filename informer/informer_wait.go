package informer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// storeVersion says how far the store has come, and wakes callers that wait for more. It lets a
// client read its own writes.
type storeVersion struct {
	mu      sync.Mutex    // guards what follows
	version string        // the store is complete up to this version of the collection
	rewinds int           // how often it was replaced by an older one
	changed chan struct{} // closed by advance when the store has changed; nil while no caller waits
}

// advance is called after each change of the store, with the version that it has reached as a
// whole, or an empty one if the server has no versions.
func (s *storeVersion) advance(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version != "" {
		s.version = version
	}
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// replaced is advance after a list. One that's older than the store has another history.
func (s *storeVersion) replaced(version string) {
	s.mu.Lock()
	if order, err := compareVersions(version, s.version); err == nil && order < 0 {
		s.rewinds++
	}
	s.mu.Unlock()
	s.advance(version)
}

// current returns the version that the store has reached, and a channel that the next change closes.
func (s *storeVersion) current() (version string, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.version, s.changed
}

// Rewinds returns how often a list brought an older version than the store had reached: the server
// was restored from a backup. What you wrote before may be undone, so don't wait for it.
func (i *Informer[T]) Rewinds() int {
	i.reached.mu.Lock()
	defer i.reached.mu.Unlock()
	return i.reached.rewinds
}

var errNoVersion = errors.New("there is no resourceVersion to wait for: " +
	"either none was given, or the server gives this kind none")

// WaitFor waits until the store is at least as new as resourceVersion for the object with that key:
// it holds that version or a newer one, or the object has been deleted since. Use it when you've
// just written the object and want to read it from the store. The event itself ends the wait.
//
// Caveats: versions are compared. A server that was restored from a backup counts on from an older
// one. So until the informer has listed again, the store looks newer than it is, and a wait ends
// too early. That list ends the waits that have begun before it; see Rewinds. If the informer doesn't
// keep the object's namespace, the wait ends: nothing comes; see Keep.
//
// Errors: an empty resourceVersion, or one that isn't a number, is an error at once. So you can't
// wait for kinds for which the server has no versions (metrics.k8s.io).
func (i *Informer[T]) WaitFor(ctx context.Context, key Key, resourceVersion string) error {
	if resourceVersion == "" {
		return fmt.Errorf("waiting for %s: %w", key, errNoVersion)
	}
	if _, err := compareVersions(resourceVersion, resourceVersion); err != nil {
		return fmt.Errorf("waiting for %s: %w", key, err)
	}
	begun := i.Rewinds()
	err := i.waitUntil(ctx, func(reached string) bool {
		if isReached(reached, resourceVersion) || i.isElsewhere(key.Namespace) || i.Rewinds() > begun {
			return true
		}
		object, ok := i.store.Get(key)
		return ok && isReached(object.GetResourceVersion(), resourceVersion)
	})
	if err != nil {
		return fmt.Errorf("waiting for %s at resourceVersion %s: %w", key, resourceVersion, err)
	}
	return nil
}

// WaitForEnd waits until the store holds no object with that key for which isOld returns true: it
// was deleted, or there's another one. Use it when you've just deleted the object, or changed it so
// that the selectors no longer match it, and want to read from the store: the answer to a deletion
// has no version that WaitFor could wait for. isOld must be fast. The event itself ends the wait, and
// so does a list after a restore from a backup, which may have brought the object back; see Rewinds.
func (i *Informer[T]) WaitForEnd(ctx context.Context, key Key, isOld func(T) bool) error {
	begun := i.Rewinds()
	err := i.waitUntil(ctx, func(string) bool {
		object, ok := i.store.Get(key)
		return !ok || !isOld(object) || i.isElsewhere(key.Namespace) || i.Rewinds() > begun
	})
	if err != nil {
		return fmt.Errorf("waiting for the end of %s: %w", key, err)
	}
	return nil
}

// waitUntil waits until done returns true. It calls done now, and after each change of the store.
func (i *Informer[T]) waitUntil(ctx context.Context, done func(reached string) bool) error {
	for {
		version, changed := i.reached.current()
		if done(version) {
			return nil // even if the informer has stopped, or the context has ended
		}
		select {
		case <-changed:
		case <-i.stopping:
			return errInformerStopped
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// isReached reports whether a version is the awaited one or a later one. The versions of one
// collection grow with its changes, so they can be compared.
func isReached(version, awaited string) bool {
	order, err := compareVersions(version, awaited)
	return err == nil && order >= 0
}

var compareVersions = resourceversion.CompareResourceVersion
