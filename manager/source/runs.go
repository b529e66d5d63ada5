package source

import (
	"context"
	"slices"
	"sync"
)

// runs are the starts of one source that haven't ended. There may be several at a time, because
// several controllers may watch a source. WaitForSync and WaitForStop don't know which controller
// calls them. So the first waits for all runs, and the second for those whose contexts have ended:
// the caller's is among them.
type runs struct {
	mu  sync.Mutex // guards all
	all []*run
}

// run is one start of a source. It ends when the context of Start has ended. Even a failed run
// doesn't end earlier, because somebody may still need the error.
type run struct {
	over    <-chan struct{} // closed when the context of Start ends
	ended   chan struct{}   // closed by runs.end
	settled chan struct{}   // closed by settle

	mu  sync.Mutex // guards the rest
	err error      // why it never becomes ready; not changed after settled is closed
	why func(end error) error
}

func (r *runs) begin(ctx context.Context) *run {
	begun := &run{over: ctx.Done(), ended: make(chan struct{}), settled: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, begun)
	return begun
}

func (r *runs) end(over *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = slices.DeleteFunc(r.all, func(other *run) bool { return other == over })
	close(over.ended)
}

func (r *runs) now() []*run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// WaitForStop implements controller.StoppingSource.
func (r *runs) WaitForStop() {
	for _, run := range r.now() {
		if isClosed(run.over) {
			<-run.ended
		}
	}
}

// waitForSync returns when all are ready, or one never will be.
func (r *runs) waitForSync(ctx context.Context) error {
	for _, run := range r.now() {
		select {
		case <-run.settled:
			if err := run.failure(); err != nil {
				return err
			}
		case <-run.over:
			if ctx.Err() != nil {
				return run.notReady(context.Cause(ctx))
			} // it was another controller's
		case <-ctx.Done():
			return run.notReady(context.Cause(ctx))
		}
	}
	return nil
}

// settle says that the run is ready, or never will be. Only the first call counts.
func (r *run) settle(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !isClosed(r.settled) {
		r.err = err
		close(r.settled)
	}
}

func (r *run) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// waitsFor sets how to explain that the run isn't ready yet when a caller stops waiting; end is the
// reason why it stops.
func (r *run) waitsFor(why func(end error) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.why = why
}

func (r *run) notReady(end error) error {
	r.mu.Lock()
	why := r.why
	r.mu.Unlock()
	if why == nil {
		return end
	}
	return why(end)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
