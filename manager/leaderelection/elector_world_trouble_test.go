package leaderelection

import (
	"time"
)

// trouble makes trouble now and then.
func (w *world) trouble() {
	kinds := w.kinds()
	w.after(w.upTo(20*time.Second), func() {
		if w.now > w.faults.calm || len(kinds) == 0 {
			return
		}
		kinds[w.random.IntN(len(kinds))](w.replicas[w.random.IntN(len(w.replicas))])
		w.trouble()
	})
}

func (w *world) kinds() (kinds []func(*replica)) {
	if w.faults.cuts {
		kinds = append(kinds, func(r *replica) { r.cut = w.now + w.upTo(40*time.Second) })
	}
	if w.faults.pauses {
		kinds = append(kinds, func(r *replica) { r.pause(w.upTo(40 * time.Second)) })
	}
	if w.faults.deletes {
		kinds = append(kinds, func(*replica) { w.exists = false })
	}
	if w.faults.ends {
		kinds = append(kinds, (*replica).kill, (*replica).cancel)
	}
	return kinds
}

// pause freezes a replica. When it wakes, its work goes on before the loop notices anything: it
// writes once, and a store that checks the token must refuse it if there is a newer leader.
func (r *replica) pause(d time.Duration) {
	r.paused = max(r.paused, r.now+d)
	r.after(d, func() {
		if r.now < r.paused || !r.working {
			return
		}
		if r.fence.Check(r.world.fence) != nil {
			r.refused++
		} else if r.world.fence != r.fence {
			r.problem("a write with %v passes after one with %v", r.fence, r.world.fence)
		}
		if !r.clock().Before(r.e.deadline()) {
			r.working = false // from here on, only the token helps
		}
	})
}

func (r *replica) kill() {
	r.starts++ // so that nothing that was begun goes on
	r.pokes++
	r.request, r.working, r.stopping, r.e.phase = 0, false, true, ended
	r.restart()
}

// cancel stops a replica in good order: first the work, and the lock is renewed meanwhile.
func (r *replica) cancel() {
	if r.stopping || r.e.phase == ended || r.now < r.paused {
		return
	}
	r.stop(func() {
		r.e = r.e.stops(r.chance(0.8))
		r.poke()
		r.restart()
	})
}
