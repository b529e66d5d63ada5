package cache

import (
	"errors"
	"fmt"
	"time"

	"github.com/loopwright/loopwright/informer"
)

// CheckHealth returns an error if reads may be answered from a cache that is out of date: an informer has not
// listed yet, or has had no answer from the server for longer than patience. The error says which one and why; that of
// an informer whose right was withdrawn wraps an *informer.RefusedError. It is for a readiness check: with a
// patience of a minute, a restart of the API server does not take a whole Deployment out of service.
//
// Caveats: a server does not end a watch because a right was withdrawn, but refuses the next one. It ends
// each watch after some minutes, and only then can anybody notice. A kind that is gone is no error here: reads say so.
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
		if err := k.informer.Health().Ready(time.Now(), patience); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", k, withoutNotFound(err)))
		}
	}
	return errors.Join(failures...)
}

// refused is the server's refusal, if reads are to fail because of one. That of a kind that the server does
// not have is none: whether it is gone takes more to decide.
func (k *kindInformer) refused() error {
	if !k.failsOnRefusal {
		return nil
	}
	refused, _ := k.presence.refusal.last()
	if refused == nil || refused.Reason == informer.UnknownKind {
		return nil
	}
	return fmt.Errorf("%s: the cache may not be read any more: %w", k, refused)
}
