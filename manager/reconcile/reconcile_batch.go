package reconcile

import (
	"context"
	"fmt"
)

// Batch reconciles several requests in one call, which pays if the work costs a round trip
// that several can share, such as a call of a cloud's API. It returns one Outcome for each
// request, in the order of the requests.
//
// The requests are different ones, and none of them is in another call meanwhile. The slice must
// stay as it is: to sort the requests, clone it. A panic, the wrong number of outcomes, or a slice
// that was changed fails them all.
type Batch func(ctx context.Context, requests []Request) []Outcome

// Outcome is what a Reconciler would have returned for a request.
type Outcome struct {
	Result Result
	Err    error
}

// Reconcile implements Reconciler: it is a batch of one.
func (b Batch) Reconcile(ctx context.Context, request Request) (Result, error) {
	outcomes := b(ctx, []Request{request})
	if len(outcomes) != 1 {
		return Result{}, fmt.Errorf("the batch returned %d outcomes for 1 request", len(outcomes))
	}
	return outcomes[0].Result, outcomes[0].Err
}
