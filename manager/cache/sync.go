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

// SyncError says which informers have not listed, and why.
type SyncError struct {
	// Failures has an error for each, sorted by the kind and the namespace. That of an
	// informer that may not read wraps an *informer.RefusedError, with the rule that is missing.
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

// timeout is the error of a wait that has ended before an informer has listed. As with
// controller-runtime, apierrors.IsTimeout recognises it.
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

// WaitForSync waits until all informers that there are have listed, except those that are removed
// meanwhile. The error is a *SyncError, or wraps an *ErrCacheNotStarted if the context ends before
// Start is called.
//
// A context that has ended asks whether they have listed now. That is the only question that a
// cache answers without a wait, so a readiness check asks it.
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

// WaitForLists waits until each informer that there is, or that is being made, has listed, or has
// been refused. It is for a source whose controller reads other kinds. controller-runtime's source
// waits for one that is refused, too: one kind that is read, and that the program may not
// list, keeps all controllers from starting. The error names the kind that was still listing when
// the context ended.
func (c *objectCache) WaitForLists(ctx context.Context) error {
	if err := c.waitForMaking(ctx, nil); err != nil {
		return err
	}
	for _, k := range c.sortedInformers() {
		// A refused kind is an error of the reads of it.
		if err := k.waitForRead(ctx); err != nil && ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// hasInformer reports whether an informer was not removed.
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

// waitForSync waits as long as the context allows: a right that is missing may be granted.
func (k *namespaceInformer) waitForSync(ctx context.Context) error {
	if err := k.informer.WaitForSync(ctx); err != nil {
		return timeout{fmt.Errorf("%s: %w", k, withoutNotFound(err))}
	}
	return nil
}

// waitForRead waits until the informers that have the namespace have listed. It fails at once where
// a read from the server would fail: a caller that waits forever for a right that it does not have
// gives no reason.
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

// readable is nil if a read may be answered from the store, once that has listed. When a kind is
// back, a read waits until its objects are in the store: one that is there would not be found
// before.
func (k *namespaceInformer) readable(ctx context.Context) error {
	now := k.from.absent.Load()
	if now == nil {
		return k.refused()
	}
	if !now.isBack {
		return &KindGoneError{k.name.GroupVersionKind}
	}
	// A version without an order cannot be waited for.
	if _, err := resourceversion.CompareResourceVersion(now.listed, now.listed); err == nil {
		if err := k.informer.WaitFor(ctx, informer.Key{}, now.listed); err != nil {
			return timeout{fmt.Errorf("%s is back, and its objects are not in the cache yet: %w", k,
				err)}
		}
	}
	k.from.absent.CompareAndSwap(now, nil)
	return nil
}

// refusal is the server's last answer, as far as it was a refusal.
type refusal struct {
	mu   sync.Mutex // guards what follows
	err  *informer.RefusedError
	news chan struct{} // closed by set when there is an error
}

func newRefusal() *refusal { return &refusal{news: make(chan struct{})} }

// last is the error, or nil and what is closed when there is one.
func (r *refusal) last() (*informer.RefusedError, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err, r.news
}

// set takes in the answer, nil for one that was good.
func (r *refusal) set(answer error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = nil
	if errors.As(answer, &r.err) {
		close(r.news)
		r.news = make(chan struct{})
	}
}

// withoutNotFound hides the 404 of a kind that the server does not have. A reconciler would take it
// for that of an object, and conclude that its object was deleted.
func withoutNotFound(err error) error {
	var refused *informer.RefusedError
	if errors.As(err, &refused) && refused.Reason == informer.UnknownKind {
		return errors.New(err.Error())
	}
	return err
}

// CheckHealth returns an error if reads may be answered from a cache that is out of date: an
// informer has not listed yet, or has had no answer from the server for longer than patience. The
// error says which one and why; that of an informer whose right was withdrawn wraps an
// *informer.RefusedError. It is for a readiness check: with a patience of a minute, a restart of
// the API server does not take a whole Deployment out of service.
//
// Caveats: a server does not end a watch because a right was withdrawn, but refuses the next one.
// It ends each watch after some minutes, and only then can anybody notice. A kind that is gone is
// no error here: reads say so.
//
// controller-runtime has nothing like it: WaitForCacheSync is true for good once all have listed.
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

// refused is the server's refusal, if reads are to fail because of one. That of a kind that the
// server does not have is none: whether it is gone takes more to decide.
func (k *namespaceInformer) refused() error {
	if !k.failsOnRefusal {
		return nil
	}
	refused, _ := k.from.refusal.last()
	if refused == nil || refused.Reason == informer.UnknownKind {
		return nil
	}
	return fmt.Errorf("%s: the cache may not be read any more: %w", k, refused)
}
