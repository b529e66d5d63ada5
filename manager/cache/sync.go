package cache

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/loopwright/loopwright/informer"
)

// SyncError says which informers haven't listed, and why.
type SyncError struct {
	// Failures has an error for each informer, sorted by kind and namespace. If an informer isn't
	// allowed to read, its error wraps an *informer.RefusedError, with the missing rule.
	Failures []error
}

func (e *SyncError) Error() string {
	texts := make([]string, len(e.Failures))
	for i, err := range e.Failures {
		texts[i] = err.Error()
	}
	return "the cache has not synced: " + strings.Join(texts, "; ")
}

func (e *SyncError) Unwrap() []error { return e.Failures }

// timeout is the error of a wait that ended before an informer had listed. As with
// controller-runtime's, apierrors.IsTimeout recognises it.
type timeout struct{ error }

func (e timeout) Unwrap() error { return e.error }

// Status implements apierrors.APIStatus.
func (e timeout) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGatewayTimeout,
		Reason: metav1.StatusReasonTimeout, Message: e.Error()}
}

// WaitForCacheSync implements Informers.
func (c *objectCache) WaitForCacheSync(ctx context.Context) bool {
	return c.WaitForSync(ctx) == nil
}

// WaitForSync waits until all existing informers have listed, except those that are removed
// meanwhile. The error is a *SyncError, or wraps an *ErrCacheNotStarted if the context ends before
// Start is called.
//
// With a context that has ended, it says whether they have listed by now, without waiting. No other
// method of the cache does that, so readiness checks use it.
func (c *objectCache) WaitForSync(ctx context.Context) error {
	if !c.isStarted() {
		select {
		case <-c.started:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", &ErrCacheNotStarted{}, context.Cause(ctx))
		}
	}
	var failures []error
	for _, k := range c.sortedInformers() {
		if err := k.waitForSync(ctx); err != nil && c.hasInformer(k) {
			failures = append(failures, err)
		}
	}
	if failures != nil {
		return &SyncError{failures}
	}
	return nil
}

// WaitForLists waits until each informer that exists, or is being made, has listed or was refused.
// It's for a source whose controller reads other kinds. controller-runtime's source waits even for
// a refused one: a single kind that the program reads but may not list keeps all controllers from
// starting. The error names the kind that was still listing when the context ended.
func (c *objectCache) WaitForLists(ctx context.Context) error {
	if err := c.waitForMaking(ctx, nil); err != nil {
		return err
	}
	for _, k := range c.sortedInformers() {
		// If a kind is refused, reads of it return the error.
		if err := k.waitForRead(ctx); err != nil && ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// hasInformer reports whether an informer hasn't been removed.
func (c *objectCache) hasInformer(k *namespaceInformer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byNamespace[k.name] == k
}

func (c *objectCache) sortedInformers() []*namespaceInformer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.byNamespace),
		func(a, b *namespaceInformer) int { return strings.Compare(a.String(), b.String()) })
}

// waitForSync waits as long as the context allows, because a missing permission may be granted.
func (k *namespaceInformer) waitForSync(ctx context.Context) error {
	if err := k.informer.WaitForSync(ctx); err != nil {
		return timeout{fmt.Errorf("%s: %w", k, withoutNotFound(err))}
	}
	return nil
}

// waitForRead waits until the informers that have the namespace have listed. It fails at once if a
// read from the server would fail: a caller that waits forever for a permission it doesn't have
// never learns why.
func (g *gvkInformer) waitForRead(ctx context.Context, namespace string) error {
	listed, _ := g.forList(namespace) // the read itself says that there are none
	for _, in := range listed {
		if isClosed(in.informer.Synced()) {
			continue
		}
		if in.from.isGone() {
			return &KindGoneError{g.GroupVersionKind}
		}
		if err := in.waitForRead(ctx); err != nil {
			return fmt.Errorf("%s cannot be read from the cache: %w", g.resource, err)
		}
	}
	return nil
}

func (k *namespaceInformer) waitForRead(ctx context.Context) error {
	for !isClosed(k.informer.Synced()) {
		refused, news := k.from.refusal.last()
		if refused != nil {
			return fmt.Errorf("%s: %w", k, withoutNotFound(refused))
		}
		select {
		case <-k.informer.Synced():
		case <-news:
		case <-k.informer.Stopped():
			return k.waitForSync(ctx)
		case <-ctx.Done():
			return k.waitForSync(ctx)
		}
	}
	return nil
}

// readable returns nil if a read may be answered from the store, once that has listed. After a kind
// has come back, a read waits until its objects are in the store; otherwise it wouldn't find an
// object that exists.
func (k *namespaceInformer) readable(ctx context.Context) error {
	now := k.from.absent.Load()
	if now == nil {
		return k.refused()
	}
	if !now.isBack {
		return &KindGoneError{k.name.GroupVersionKind}
	}
	// We can't wait for a version that has no order.
	_, err := resourceversion.CompareResourceVersion(now.listed, now.listed)
	if err == nil && k.informer.Rewinds() == now.rewinds {
		if err := k.informer.WaitFor(ctx, informer.Key{}, now.listed); err != nil {
			return timeout{fmt.Errorf("%s is back, and its objects are not in the cache yet: %w", k,
				err)}
		}
	}
	k.from.absent.CompareAndSwap(now, nil)
	return nil
}

// refusal is the server's last answer, if that was a refusal.
type refusal struct {
	mu   sync.Mutex // guards what follows
	err  *informer.RefusedError
	news chan struct{} // closed by set when there's an error
}

func newRefusal() *refusal { return &refusal{news: make(chan struct{})} }

// last returns the error, or nil and a channel that is closed when there is one.
func (r *refusal) last() (*informer.RefusedError, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err, r.news
}

// set processes the answer; nil is a good one.
func (r *refusal) set(answer error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = nil
	if errors.As(answer, &r.err) {
		close(r.news)
		r.news = make(chan struct{})
	}
}

// withoutNotFound hides the 404 of a kind that the server doesn't have. A reconciler would take it
// for an object's, and conclude that its object was deleted.
func withoutNotFound(err error) error {
	var refused *informer.RefusedError
	if errors.As(err, &refused) && refused.Reason == informer.UnknownKind {
		return errors.New(err.Error())
	}
	return err
}

// CheckHealth returns an error if reads may be answered from an outdated cache: an informer hasn't
// listed yet, or has had no answer from the server for longer than patience. The error says which
// informer and why. If its permission was withdrawn, the error wraps an *informer.RefusedError. Use
// it for a readiness check: with a patience of a minute, a restart of the API server doesn't take a
// whole Deployment out of service.
//
// Caveats: a server doesn't end a watch because a permission was withdrawn, but refuses the next
// one. It ends each watch after some minutes, and only then can the refusal be noticed. A removed
// kind isn't an error here: reads say so.
//
// controller-runtime has nothing like it: WaitForCacheSync stays true once all have listed.
func CheckHealth(c Informers, patience time.Duration) error {
	if explains, ok := c.(interface{ CheckHealth(time.Duration) error }); ok {
		return explains.CheckHealth(patience)
	}
	return fmt.Errorf("a %T does not say how its informers are doing", c)
}

// CheckHealth is the function of that name.
func (c *objectCache) CheckHealth(patience time.Duration) error {
	if !c.isStarted() {
		return &ErrCacheNotStarted{}
	}
	var failures []error
	for _, k := range c.sortedInformers() {
		err := k.informer.Health().Ready(time.Now(), patience)
		if err == nil && !isClosed(k.informer.Synced()) {
			err = errors.New("its first list is not in the store yet")
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", k, withoutNotFound(err)))
		}
	}
	return errors.Join(failures...)
}

// refused returns the server's refusal, if reads should fail because of it. A 404 for a kind that
// the server doesn't have doesn't count: it takes more to decide whether the kind was removed.
func (k *namespaceInformer) refused() error {
	if !k.failsOnRefusal {
		return nil
	}
	refused, _ := k.from.refusal.last()
	if refused == nil || refused.Reason == informer.UnknownKind {
		return nil
	}
	return fmt.Errorf("%s: the cache may no longer be read: %w", k, refused)
}
