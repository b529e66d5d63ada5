package controller

import (
	"sync"

	"github.com/loopwright/loopwright/manager/reconcile"
)

// retries counts how often each request has been retried since it last went well, for MaxRetries.
// The rate limiter's count is another one: it includes answers that are no errors, such as
// Requeue, and a limiter need not count at all.
type retries struct {
	mu   sync.Mutex // guards made
	made map[reconcile.Request]int
}

// limit is decision.limitRetries with the count of the request, and counts the retry that is left.
func (r *retries) limit(request reconcile.Request, d decision, limit int) decision {
	r.mu.Lock()
	defer r.mu.Unlock()
	d = d.limitRetries(r.made[request], limit)
	switch {
	case d.forget:
		delete(r.made, request)
	case d.label == labelError:
		if r.made == nil {
			r.made = map[reconcile.Request]int{}
		}
		r.made[request]++
	}
	return d
}
