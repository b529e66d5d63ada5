package workqueue

import "slices"

// parkingLot is where workers wait for work.
//
// A worker that is woken needs a moment to arrive, and in this moment a worker
// that never slept may take the item. To wake one for each add is therefore mostly
// wasted, and costs more than all the rest of the queue. So at most one worker
// is on its way at any time; when it arrives, it wakes the next if there is more
// to do. The invariant:
//
//	something is ready and somebody is parked => somebody is on the way
//
// A sync.Cond could not keep count, nor stop waiting when a context ends. The
// queue's lock guards all of it.
type parkingLot struct {
	parked []*worker // the last to come is the first to be woken: its caches are warm
	onWay  int       // woken and not arrived yet
	spare  []*worker // to use again
}

// worker is a goroutine that waits.
type worker struct {
	// wake is sent to by wakeOne and wakeAll, and received from by the waiting
	// goroutine. It has room for one, so that to wake never blocks, and is never
	// closed: it is used again.
	wake chan struct{}
}

// park makes the caller one of those that wait. The caller then unlocks the queue and
// receives from wake.
func (p *parkingLot) park() *worker {
	var w *worker
	if n := len(p.spare); n > 0 {
		w, p.spare = p.spare[n-1], p.spare[:n-1]
	} else {
		w = &worker{wake: make(chan struct{}, 1)}
	}
	p.parked = append(p.parked, w)
	return w
}

// arrive is called by a worker that was woken.
func (p *parkingLot) arrive(w *worker) {
	p.onWay--
	p.spare = append(p.spare, w)
}

// leave is called by a worker that stops waiting. It may have been woken in the
// same moment; then the caller has to wake another one instead.
func (p *parkingLot) leave(w *worker) {
	if i := slices.Index(p.parked, w); i >= 0 {
		p.parked = slices.Delete(p.parked, i, i+1)
	} else {
		<-w.wake
		p.onWay--
	}
	p.spare = append(p.spare, w)
}

// wakeOne keeps the invariant after something became ready, or somebody arrived.
func (p *parkingLot) wakeOne(ready int) {
	if ready > 0 && p.onWay == 0 && len(p.parked) > 0 {
		p.wakeLast()
	}
}

// wakeAll is for a shutdown.
func (p *parkingLot) wakeAll() {
	for len(p.parked) > 0 {
		p.wakeLast()
	}
}

func (p *parkingLot) wakeLast() {
	n := len(p.parked) - 1
	w := p.parked[n]
	p.parked[n], p.parked = nil, p.parked[:n]
	p.onWay++
	w.wake <- struct{}{}
}
