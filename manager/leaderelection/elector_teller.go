package leaderelection

import (
	"sync"

	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
)

// teller calls what belongs to the user, other than the work, from a goroutine of its own: the loop
// has a deadline, and must not wait for a recorder of events or a log. The goroutine is there only as
// long as there is something to tell.
type teller struct {
	lock        resourcelock.Interface
	onNewLeader func(string) // or nil

	mu      sync.Mutex // guards what follows
	events  []string   // at most two in a run
	leader  string     // the newest
	news    bool       // leader has not been told
	running bool       // the goroutine
	closing bool       // nothing more will come

	// done is closed by whoever finds closing set and nothing left, and received by the loop.
	done chan struct{}
}

func newTeller(lock resourcelock.Interface, onNewLeader func(string)) *teller {
	return &teller{lock: lock, onNewLeader: onNewLeader, done: make(chan struct{})}
}

// event tells the lock what happened to it.
func (t *teller) event(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, what)
	t.goLocked()
}

// sees tells the user of a new leader.
func (t *teller) sees(leader string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if leader != t.leader {
		t.leader, t.news = leader, t.onNewLeader != nil
		t.goLocked()
	}
}

func (t *teller) goLocked() {
	if !t.running && (len(t.events) > 0 || t.news) {
		t.running = true
		go t.run()
	}
}

func (t *teller) run() {
	for {
		events, leader, news, more := t.take()
		if !more {
			return
		}
		for _, event := range events {
			t.lock.RecordEvent(event)
		}
		if news {
			t.onNewLeader(leader)
		}
	}
}

func (t *teller) take() (events []string, leader string, news, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	events, news = t.events, t.news
	t.events, t.news = nil, false
	t.running = len(events) > 0 || news
	if !t.running && t.closing {
		close(t.done)
	}
	return events, t.leader, news, t.running
}

// finish says that nothing more will come.
func (t *teller) finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closing && !t.running {
		close(t.done)
	}
	t.closing = true
}

// finished means that everything has been told, and that nothing more will come.
func (t *teller) finished() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closing && !t.running
}
