package leaderelection

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
)

// worldTiming is what everybody uses who changes nothing, but for waitForMissing: somebody deletes
// locks here.
var worldTiming = timing{lease: 15 * time.Second, renew: 10 * time.Second, retry: 2 * time.Second,
	waitForMissing: true}

// world is a server with one lock, and replicas with clocks of their own. It plays the shell around
// the machine, in one goroutine and without waiting; what goes wrong is decided by a seed.
type world struct {
	random   *rand.Rand
	now      time.Duration // the true time, which nobody knows
	agenda   agenda
	number   int
	replicas []*replica
	faults   worldFaults

	exists  bool
	version int
	record  resourcelock.LeaderElectionRecord

	// fence is the newest token that a store has seen, as far as the lock was not deleted.
	fence    Fence
	terms    int // how often somebody began to work
	refused  int // writes of replicas that did not know that they had been replaced
	problems []string
}

// worldFaults is what may go wrong until calm.
type worldFaults struct {
	rates   float64 // how far clocks may be too fast or too slow
	stop    time.Duration
	lose    float64 // of requests, and of answers
	slow    float64 // of requests and answers, which take up to 20 s
	twice   float64 // of requests, which arrive a second time
	cuts    bool    // a replica cannot reach the server for a while
	pauses  bool    // a replica stands still for a while
	deletes bool    // somebody deletes the lock
	ends    bool    // replicas are killed, or stopped in good order, and started again
	calm    time.Duration
}

type replica struct {
	*world
	index, starts int
	pokes         int // only the newest appointment counts
	offset        time.Duration
	rate          float64
	e             election
	request       int // the number of the one that is waited for
	known         int // the version that an update builds on
	cut, paused   time.Duration
	working       bool // from the start of the work until it has really ended
	stopping      bool
	fence         Fence
}

func newWorld(seed uint64, replicas int, faults worldFaults) *world {
	w := &world{random: rand.New(rand.NewPCG(seed, 13)), faults: faults}
	for index := range replicas {
		r := &replica{world: w, index: index,
			offset: time.Duration(w.random.Int64N(int64(1000 * time.Hour))),
			rate:   1 + faults.rates*(2*w.random.Float64()-1),
		}
		w.replicas = append(w.replicas, r)
		w.after(w.upTo(5*time.Second), r.start)
	}
	w.trouble()
	return w
}

// clock is what the replica's clock shows.
func (r *replica) clock() time.Time {
	return time.Unix(1e9, 0).Add(r.offset + time.Duration(float64(r.now)*r.rate))
}

func (r *replica) start() {
	r.starts++
	t := worldTiming
	t.identity = fmt.Sprintf("%c-%d", 'a'+r.index, r.starts)
	r.e, r.request, r.known, r.stopping = newElection(t), 0, 0, false
	r.poke()
}

// poke does what the loop of the shell does.
func (r *replica) poke() {
	r.pokes++
	pokes := r.pokes
	again := func(d time.Duration) {
		r.after(d, func() {
			if r.pokes == pokes {
				r.poke()
			}
		})
	}
	if r.now < r.paused {
		again(r.paused - r.now)
		return
	}
	for {
		now, before := r.clock(), r.e.phase
		switch s := r.e.next(now); s.do {
		case wait:
			if at, ok := r.e.wake(); ok {
				again(time.Duration(float64(at.Sub(now))/r.rate) + 1)
			}
			return
		case pause:
			r.e = r.e.rests(now, r.random.Float64())
		case giveUp:
			r.e = r.e.expires()
		case finish:
			return
		default:
			r.send(s)
		}
		r.changed(before)
	}
}

// changed starts and ends the work.
func (r *replica) changed(before phase) {
	if before != leading && r.e.phase == leading {
		r.work()
	}
	if before == leading && r.e.phase == ended && !r.stopping {
		r.stop(func() { r.restart() })
	}
}

func (r *replica) work() {
	for _, other := range r.replicas {
		if other != r && other.working && other.now >= other.paused {
			r.problem("%s begins to work while %s works", r.e.identity, other.e.identity)
		}
	}
	r.working, r.terms = true, r.terms+1
	r.fence = Fence{Identity: r.e.identity, Transitions: r.e.record.LeaderTransitions}
	if err := r.fence.Check(r.world.fence); err != nil && !r.faults.deletes {
		r.problem("the new leader is refused: %s", err)
	}
	if r.fence.Check(r.world.fence) == nil {
		r.world.fence = r.fence
	}
}

// stop ends the work, which takes a moment.
func (r *replica) stop(then func()) {
	r.stopping = true
	starts := r.starts
	r.after(r.upTo(r.faults.stop), func() {
		if r.starts == starts {
			r.working = false
			then()
		}
	})
}

func (r *replica) restart() {
	starts := r.starts
	r.after(r.upTo(10*time.Second), func() {
		if r.starts == starts {
			r.start()
		}
	})
}

// send sends a request. The client waits for 5 s.
func (r *replica) send(s step) {
	r.e = r.e.sends(s, r.clock())
	r.number++
	number := r.number
	r.request = number
	known := r.known
	arrivals := 1
	if r.chance(r.faults.twice) {
		arrivals = 2
	}
	for range arrivals {
		if r.now < r.cut || r.chance(r.faults.lose) {
			continue
		}
		r.after(r.latency(), func() {
			record, version, outcome := r.serve(s, known)
			if r.now < r.cut || r.chance(r.faults.lose) {
				return
			}
			r.after(r.latency(), func() { r.answer(number, s, record, version, outcome) })
		})
	}
	r.after(worldTiming.renew/2, func() {
		r.answer(number, s, resourcelock.LeaderElectionRecord{}, 0, "timeout")
	})
}

// serve is what the API server does.
func (w *world) serve(
	s step, known int,
) (record resourcelock.LeaderElectionRecord, version int, outcome string) {
	switch {
	case s.do == read && !w.exists, s.do == update && !w.exists:
		return record, 0, "missing"
	case s.do == read:
		return w.record, w.version, "ok"
	case s.do == create && w.exists, s.do == update && known != w.version:
		return record, 0, "conflict"
	}
	w.version++
	w.exists, w.record = true, s.record
	return w.record, w.version, "ok"
}

func (r *replica) answer(
	number int, s step, record resourcelock.LeaderElectionRecord, version int, outcome string,
) {
	if r.request != number {
		return
	}
	if r.now < r.paused {
		r.after(r.paused-r.now, func() { r.answer(number, s, record, version, outcome) })
		return
	}
	r.request = 0
	now, before := r.clock(), r.e.phase
	switch {
	case outcome == "ok" && s.do == read:
		r.known = version
		r.e = r.e.saw(record, fmt.Sprint(version), now)
	case outcome == "ok":
		r.known = version
		r.e = r.e.wrote(now)
	case outcome == "missing" && s.do == read:
		r.e = r.e.sawNothing(now)
	default:
		r.e = r.e.failed(now, r.random.Float64())
	}
	r.changed(before)
	r.poke()
}

func (w *world) run(until time.Duration) {
	for len(w.agenda) > 0 && w.agenda[0].at <= until {
		entry := heap.Pop(&w.agenda).(entry)
		w.now = entry.at
		entry.do()
	}
	w.now = until
}

func (w *world) problem(format string, args ...any) {
	w.problems = append(w.problems,
		fmt.Sprintf("%8.3fs ", w.now.Seconds())+fmt.Sprintf(format, args...))
}

func (w *world) working() (n int) {
	for _, r := range w.replicas {
		if r.working {
			n++
		}
	}
	return n
}

func (w *world) chance(p float64) bool { return w.now < w.faults.calm && w.random.Float64() < p }

func (w *world) upTo(d time.Duration) time.Duration {
	return time.Duration(w.random.Int64N(int64(d) + 1))
}

func (w *world) latency() time.Duration {
	if w.chance(w.faults.slow) {
		return w.upTo(20 * time.Second)
	}
	return w.upTo(50 * time.Millisecond)
}

func (w *world) after(d time.Duration, do func()) {
	w.number++
	heap.Push(&w.agenda, entry{w.now + d, w.number, do})
}

// agenda is what will happen, the earliest first.
type agenda []entry

type entry struct {
	at     time.Duration
	number int
	do     func()
}

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].number < a[j].number
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(entry)) }
func (a *agenda) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	*a = (*a)[:last]
	return x
}

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
